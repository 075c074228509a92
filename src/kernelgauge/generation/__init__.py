"""Where candidates come from: prompts and extraction for language models, and other contestants."""
