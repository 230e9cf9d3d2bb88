"""Which files are no tests: `pytest FOLDER` may be called from any working directory."""

# The module of CuPy needs a GPU, and is tested in tests/gpu.
collect_ignore = ["benchmarks", "docs", "examples", "noxfile.py", "minispore/_array/_cupy.py"]
