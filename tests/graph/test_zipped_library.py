"""Graph mode, and the comparison of runs, where Python's own library is in an archive."""

import os
import py_compile
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.helpers.processes import run_python
from tests.helpers.replays import needs_replays

ROOT = Path(__file__).parents[2]
# A training step and the functions that judge code use them.
MODULES = ("dis", "enum", "functools", "operator", "random", "typing", "warnings")
PROGRAM = """
import random, sys
import minispore as ms
from minispore import Tensor, nn
from minispore.train.resume.descriptions import is_library

for name in sys.argv[2:]:
    assert sys.modules[name].__file__.startswith(sys.argv[1]), name
net = nn.SequentialCell(nn.Dense(2, 2), nn.Dropout(p=0.5), nn.Dense(2, 1))
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
ms.set_context(mode=ms.GRAPH_MODE)
for _ in range(6):
    step(Tensor([[1.0, 2.0]]), Tensor([[3.0]]))
of_others = [x for x in sorted(sys.stdlib_module_names & sys.modules.keys()) if not is_library(x)]
print(ms.graph_info(step).replayed, of_others, ms.graph_info(step).last)
"""


@needs_replays
@pytest.mark.parametrize("suffix", ["py", "pyc"])
def test_library_in_an_archive_is_python_s(suffix: str, tmp_path: Path) -> None:
    """Modules that Python contains, or that are written in C, are not in the archive."""
    archive, compiled = tmp_path / "python.zip", tmp_path / "compiled"
    with ZipFile(archive, "w") as file:
        for name in MODULES:
            source = Path(sysconfig.get_path("stdlib"), f"{name}.py")
            # Code that was compiled elsewhere names that place.
            py_compile.compile(str(source), str(compiled), f"/elsewhere/{name}.py", doraise=True)
            file.write(source if suffix == "py" else compiled, f"{name}.{suffix}")
    path = f"{archive}{os.pathsep}{ROOT}"
    done = run_python("-c", PROGRAM, archive, *MODULES, environment={"PYTHONPATH": path})
    assert done.stdout == "3 [] ('replayed', '')\n", done.stdout + done.stderr
