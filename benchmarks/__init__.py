"""Measurements beside other systems, in one run, as ratios: `python -m benchmarks`."""
