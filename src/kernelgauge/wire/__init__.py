"""What parent and workers both speak: messages, shared memory, arguments, outputs, modes of arithmetic."""
