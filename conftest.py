"""Which files are no tests, and whose assertions pytest rewrites.

`pytest FOLDER` may be called from any working directory.
"""

import pytest

collect_ignore = ["benchmarks", "conftest.py", "docs", "examples", "noxfile.py"]
# It needs a GPU, and is tested in tests/gpu.
collect_ignore += ["minispore/_array/_cupy.py"]
# What the tests share, too: `python -O` leaves out all other assertions.
pytest.register_assert_rewrite("tests")
