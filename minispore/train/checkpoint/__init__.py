"""Checkpoint files: their formats, saving, loading, conversion and retention."""
