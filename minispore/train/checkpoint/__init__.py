"""Checkpoint files: their formats, saving, loading, conversion and retention.

Its modules import `common`, `engine`, `nn`, `ops` and `utils`.
"""
