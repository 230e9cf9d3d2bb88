"""Comparisons of speed and memory with other systems: `python -m benchmarks`."""
