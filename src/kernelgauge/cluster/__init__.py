"""The same run on a Ray cluster: judges on its GPUs, builds on its CPUs, and nothing lost when a node dies."""
