"""Data pipelines: sources, operations on them, and iterators that hand out batches."""
