"""Facades: each public name is the same however it is imported first."""

import ast
import pickle
from importlib import import_module
from inspect import getsource
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore.utils.facade import public_names
from tests.helpers.processes import run_python

FOLDER = Path(minispore.__file__).parent
FACADES = sorted(
    ".".join(
        ["minispore", *(part for part in path.relative_to(FOLDER).parts if part[:8] != "__init__")]
    ).removesuffix(".pyi")
    for path in FOLDER.rglob("*.pyi")
)
NAMES = [(facade, name) for facade in FACADES for name in public_names(facade)]


def run(program: str, *arguments: str) -> str:
    return run_python("-c", program, *arguments).stdout


@pytest.mark.parametrize("facade", FACADES)
def test_names_are_those_of_their_modules(facade: str) -> None:
    """All can be imported; a star import gives each of them once."""
    module = import_module(facade)
    names = public_names(facade)
    assert len(names) == len({*names})
    everything: dict[str, object] = {}
    exec(f"from {facade} import *", everything)
    starred = {*module.__all__}
    assert {*everything} - {"__builtins__"} == starred <= {*names}
    for name in names:
        value = getattr(module, name)
        assert vars(module)[name] is value
        assert getattr(import_module(getattr(value, "__module__", facade)), name, value) is value


def test_facades_have_no_code_but_their_names() -> None:
    """What a type checker reads in the stub is what a program finds."""
    for facade in FACADES:
        file = import_module(facade).__file__
        assert file is not None
        tree = ast.parse(Path(file).read_text("utf-8"))
        assert not [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and facade != "minispore"
        ]


def test_no_name_is_that_of_a_submodule() -> None:
    """Python would replace the name by the submodule when that is imported."""
    for facade in FACADES:
        path = FOLDER.joinpath(*facade.split(".")[1:])
        for name in public_names(facade):
            is_module = (path / f"{name}.py").exists() or (path / name).is_dir()
            assert not is_module or isinstance(getattr(import_module(facade), name), ModuleType)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
def test_objects_are_pickled_and_have_a_source(names: list[tuple[str, str]]) -> None:
    for facade, name in names:
        value = getattr(import_module(facade), name)
        if isinstance(value, type) and value.__module__.startswith("minispore"):
            assert pickle.loads(pickle.dumps(value)) is value
            assert f"class {value.__name__}" in getsource(value)


ORDERS = [
    "minispore.ops.losses", "minispore.common.tensor", "minispore.ops.arithmetic",
    "minispore.nn.cell", "minispore.train.callback._loss_monitor", "minispore.nn.layer.conv",
    "minispore.engine.dispatch", "minispore.train.loop", "minispore.dataset.vision",
    "minispore._metrics", "minispore.train.protocol.callback", "minispore.communication",
]  # fmt: skip


@pytest.mark.parametrize("first", ORDERS)
def test_any_module_can_be_imported_first(first: str) -> None:
    program = (
        "import sys; from importlib import import_module; import_module(sys.argv[1]);"
        "from minispore import Tensor, ops; print(ops.relu(Tensor([-1.0, 2.0])))"
    )
    assert run(program, first) == "[0. 2.]\n"


THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
names = [line.split() for line in sys.argv[1:]]
sys.setswitchinterval(1e-6)
barrier = Barrier(8)
def find(number):
    barrier.wait()
    found = {}
    for facade, name in names[number % len(names):] + names[:number % len(names)]:
        found[facade, name] = getattr(import_module(facade), name)
    return found
with ThreadPoolExecutor(8) as pool:
    first, *others = pool.map(find, range(8))
assert all(other[key] is first[key] for other in others for key in first)
print(len(first))
"""


def test_names_are_found_in_threads_at_the_same_time() -> None:
    names = NAMES[::7]
    assert run(THREADS, *map(" ".join, names)) == f"{len({*names})}\n"


PROCESSES = """
import multiprocessing, sys
import minispore
from minispore import nn
def find(name):
    return getattr(nn, name)
def name_of(cls):
    return cls(1, 1).weight.shape
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as pool:
        assert pool.apply(find, ["Dense"]) is nn.Dense
        print(pool.apply(name_of, [nn.Dense]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_names_are_found_in_other_processes(method: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROCESSES, encoding="utf-8")
    assert run_python(file, method).stdout == "(1, 1)\n"


def test_completion_lists_names_that_were_not_used() -> None:
    """As IPython's, which reads `dir` and the attributes."""
    program = (
        "from minispore import nn; from rlcompleter import Completer;"
        "print(Completer({'nn': nn}).attr_matches('nn.SGD')[0])"
    )
    assert run(program).startswith("nn.SGD(")


def test_monkeypatched_name_is_found_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    from minispore import nn

    original = nn.ReLU
    with monkeypatch.context() as patch:
        patch.setattr(nn, "ReLU", None)
        assert nn.ReLU is None
    assert nn.ReLU is original
