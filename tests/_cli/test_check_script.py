"""`minispore check-script`: names, arguments, places, copies, notebooks and the exit status."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from inspect import Parameter, signature
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._cli import main
from minispore._cli.check_script import SUFFIX, edited
from minispore._cli.differences import differences, parse_pattern
from minispore._cli.script_analysis import Analysis, Finding, is_replaced_exactly
from minispore.utils.unsupported import find_advice, is_supported
from tests.oracles.signatures import expressions
from tests.utils.test_unsupported import table, unsupported_paths

ROOT = Path(__file__).parents[2]
MODULES = [
    "amp", "common", "common.dtype", "common.initializer", "communication", "context", "dataset",
    "dataset.transforms", "dataset.vision", "dataset.vision.c_transforms", "nn", "nn.layer",
    "nn.loss", "nn.optim", "nn.wrap", "ops", "ops.functional", "ops.operations", "tensorpack",
    "train", "train.callback", "train.serialization",
]  # fmt: skip
# A name with its module, below the package; "" is the package itself.
PUBLIC_NAMES = [
    (module, name)
    for module in ["", *MODULES]
    for name in dir(import_module(f"minispore.{module}".rstrip(".")))
    if not name.startswith("_")
]
MISSING_NAMES = [
    tuple(path.removeprefix("minispore").lstrip(".").rpartition(".")[::2])
    for path in unsupported_paths()
]


def to_change(source: str) -> list[Finding]:
    """Return the findings in a program but for what minispore does otherwise."""
    return [each for each in Analysis(source).findings if each.kind != "differs"]


# Names.


class Program(NamedTuple):
    """A program that uses a name, and where the name is in it."""

    text: str
    line: int
    column: int


def program(form: str, root: str, module: str, name: str, alias: str, before: str) -> Program:
    """Return a program of a form, in which `@` is before the name."""
    path = f"{root}.{module}".rstrip(".")
    package, _, last = path.rpartition(".")
    text = before + form.format(
        path=path, package=package or path, last=last, name=name, alias=alias, root=root
    )
    line = text[: text.index("@")].count("\n") + 1
    column = text.index("@") - text.rfind("\n", 0, text.index("@"))
    return Program(text.replace("@", ""), line, column)


FORMS = [
    "from {path} import @{name}\n",
    "from {path} import @{name} as {alias}\nprint({alias})\n",
    "from {path} import (\n    @{name},\n)\n",
    "import {path} as {alias}\nprint({alias}.@{name})\n",
    "import {path} as {alias}\ndef f(_):\n    return _, 'é', {alias}.@{name}\n",
    "import {path}\nprint({path}.@{name})\n",
    "import {root} as {alias}, os\nclass C:\n    x = {alias}.{{below}}@{name}\n",
]
roots = st.sampled_from(["mindspore", "minispore"])
aliases = st.sampled_from(["ms", "nn", "ops", "x", "größe", "mindspore"])
befores = st.sampled_from(["", "\n# A comment.\n", "'''Two\nlines.'''\n", "import os\n\x0c\n"])


def programs(names: Sequence[tuple[str, ...]]) -> st.SearchStrategy[tuple[Program, str]]:
    """Return programs that use one of these names, and the path of the name in minispore."""

    def make(
        form: str, root: str, named: tuple[str, ...], alias: str, before: str
    ) -> tuple[Program, str]:
        module, name = named
        below = f"{module}." if module else ""
        made = program(form.replace("{{below}}", below), root, module, name, alias, before)
        return made, f"minispore.{below}{name}"

    return st.builds(make, st.sampled_from(FORMS), roots, st.sampled_from(names), aliases, befores)


@given(programs(PUBLIC_NAMES))
def test_public_names_are_not_found(made: tuple[Program, str]) -> None:
    assert to_change(made[0].text) == []


@given(programs(MISSING_NAMES))
def test_missing_names_are_found_where_they_are_with_their_advice(
    made: tuple[Program, str],
) -> None:
    (text, line, column), path = made
    found = {(each.line, each.column): each for each in to_change(text)}
    assert found[line, column].kind == "missing"
    assert found[line, column].message == find_advice(path)
    # Further ones are those of the module, if it is missing too.
    assert all(path.startswith(f"{each.name}.") for each in found.values() if each.name != path)


@given(st.sampled_from(["nn", "ops", "train", "common.initializer"]), st.integers())
def test_unknown_names_are_found_with_the_error_of_the_module(module: str, number: int) -> None:
    name = f"_absent_{abs(number)}"
    (found,) = to_change(f"from mindspore.{module} import {name}\n")
    assert found.message.startswith(f"module 'minispore.{module}' has no attribute '{name}'")


def test_names_of_other_libraries_are_found_with_the_replacement() -> None:
    (found,) = to_change("from mindspore import nn\nnn.Module\n")
    assert (found.message[-11:], found.replacement) == ("use nn.Cell", "nn.Cell")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import mindspore.absent", ["minispore.absent"]),
        ("try:\n    import mindspore.absent\nexcept ImportError:\n    pass", []),
        ("try:\n    from mindspore.nn import Absent\nexcept Exception:\n    pass", []),
        ("try:\n    import mindspore.absent\nexcept ValueError:\n    pass", ["minispore.absent"]),
        ("from mindspore.nn import *\nConv3d(1, 2)\nDense(1, 2)\nlen([])", ["minispore.nn.Conv3d"]),
        ("from mindspore import nn\nnn = 3\nnn.Conv3d", []),
        ("from mindspore import nn\nfor nn in ():\n    nn.Conv3d", []),
        ("from mindspore import nn\nf = lambda nn: nn.Conv3d\n[nn.Conv3d for nn in ()]", []),
        ("from mindspore import nn\ndef f(nn):\n    return nn.Conv3d", []),
        ("from mindspore import nn\ndef f(x: nn.Conv3d) -> None: ...", ["minispore.nn.Conv3d"]),
        ("from mindspore import numpy as np\nnp.sin", ["minispore.numpy.sin"]),
        ("from mindspore.nn import Conv3d\nConv3d.construct", ["minispore.nn.Conv3d"]),
        ("from mindspore.absent import *\nConv3d", ["minispore.absent"]),
        ("from mindspore import nn\n@nn.Conv3d\nclass C: ...", ["minispore.nn.Conv3d"]),
        # A module that has another name here.
        ("import mindspore.dataset.transforms.vision.c_transforms as C\nC.Resize(2)\nC.Absent",
         ["minispore.dataset.transforms.vision.c_transforms", "minispore.dataset.vision.Absent"]),
        ("import numpy as np\nnp.absent\nfrom os import absent", []),
    ],
)  # fmt: skip
def test_names_are_those_of_the_scope(text: str, names: list[str]) -> None:
    assert [each.name for each in to_change(text)] == names


# Objects.

OBJECTS = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.train import Callback, Metric, Model

x = Tensor([1.0])
x.absent  # found
x.sum().absent()  # found
x.shape.absent
(x + 1).absent  # found
x[0].absent  # found
ops.relu(x).absent  # found
nn.Dense(1, 2)(x).absent  # found
y = Parameter(x, name="y")
(2 * y).absent  # found
y = x.asnumpy()
y.absent
for z in x:
    z.absent
ops.value_and_grad(len).absent
x.backward()  # found
x.detach.absent  # found
data = ms.dataset.NumpySlicesDataset([1]).batch(2)
data.absent()  # found
data.create_dict_iterator().get_next()  # found
unknown(x).absent


class Net(nn.Cell):
    size = 3

    def __init__(self, size: int):
        super().__init__(absent=1)  # found
        super(Net, self).absent  # found
        self.dense = nn.Dense(1, 2)
        self.either = nn.ReLU()
        self.same = nn.ReLU()
        self.narrow = nn.Cell()
        self.number = size

    def construct(self, x, mask=None):
        self.either = nn.Dense(1, 2)
        self.same = nn.ReLU()
        self.narrow = nn.ReLU()
        self.dense.absent  # found
        self.either.absent
        self.narrow.absent  # found
        self.same.absent  # found
        self.number.absent
        x.absent  # found
        x.append(1)
        x = self.dense(x)
        mask.absent
        self.construct(x).absent
        self.size.absent
        return x.absent  # found

    @property
    def part(self):
        return self.in_another_file

    def later(self):
        self.given_by_a_subclass()
        self.zero_grad()  # found


class Wide(nn.Dense):
    def construct(self, x):
        self.relu.absent  # found
        return self.weight, self.matmul_of_mindspore(x)  # found

    @staticmethod
    def of(other):
        return other.absent

    def __init__(self):
        super().__init__(1, 2)
        self.relu = nn.ReLU()


class Outer(unknown.Base):
    def method(self):
        self.absent


Net(1).later()
Net(1).parameters()  # found
model = Model(Net(1))
model.absent  # found
model.train(1, data, absent=3)  # found
model.summary()  # found


class Share(Metric):
    def update(self):
        self.given_by_a_subclass


class Print(Callback):
    def on_step(self, run_context): ...


async def run(x):
    async with x as model:
        model.absent
"""


def test_attributes_of_objects_are_found_if_their_class_is_known() -> None:
    lines = OBJECTS.splitlines()
    expected = [number for number, line in enumerate(lines, 1) if line.endswith("# found")]
    expected.append(lines.index("class Print(Callback):") + 1)
    found = to_change(OBJECTS)
    assert [each.line for each in found] == sorted(expected)
    sentences = {each.name: each.message for each in found}
    assert sentences["Cell.zero_grad"].endswith("so nothing has to be set to zero.")
    assert sentences["Print"].endswith("did you mean 'on_eval_step_end'?")


def test_attributes_that_a_script_sets_by_name_may_exist() -> None:
    text = "from mindspore import nn\nclass Net(nn.Dense):\n    def f(self): self.absent()\n"
    assert [each.name for each in to_change(text)] == ["Dense.absent"]
    for more in ("setattr(Net, n, 1)", "net.absent = 2", "print('absent')"):
        assert to_change(f"{text}{more}\n") == []


# Arguments.


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions and classes, by their names, that take no further keywords."""
    for name in expressions():
        value: object = import_module("minispore")
        for part in name.split("."):
            value = getattr(value, part)
        if callable(value):
            with suppress(ValueError):  # classes of C without a signature
                signature(value)
                yield name, value


FUNCTIONS = dict(functions())


@given(st.sampled_from(sorted(FUNCTIONS)))
def test_keywords_are_those_of_the_signature(name: str) -> None:
    parameters = signature(FUNCTIONS[name]).parameters.values()
    names = [p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    given_all = "".join(f"{each}=v, " for each in names)
    text = f"import mindspore\nmindspore.{name}({given_all}**rest)\n"
    assert to_change(text) == []
    if not any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        (found,) = to_change(f"import mindspore\nmindspore.{name}(\n *a, absent_=1)\n")
        assert (found.line, found.column, found.kind) == (3, 6, "refused")
        assert "absent_" in found.message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("nn.Dense(1)", "missing a required argument: 'out_channels'"),
        ("nn.Dense(1, 2, 3, 4, 5, 6, 7, 8, 9)", "too many positional arguments"),
        ("nn.ReLU()()", "missing a required argument: 'input'"),
        ("nn.Dense(1, 2, bias=False)", "unexpected keyword argument 'bias': use 'has_bias'"),
        ("ms.Model(nn.ReLU(), device=1)", None),
        ("nn.Dense(*sizes)", None),
        ("nn.Dense(1, **rest)", None),
        ("ms.set_context(device_target='Ascend')", "must be one of 'CPU', 'GPU', but got 'Ascend'"),
        ("ms.set_context(mode=ms.PYNATIVE_MODE, absent=1)", "there is no option 'absent'"),
        ("ms.set_context(device_target=target, absent=value)", None),
        ("ms.set_device('Ascend')", "must be one of 'CPU', 'GPU', but got 'Ascend'"),
        ("ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel')", "is not supported"),
        ("ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL)", None),
    ],
)  # fmt: skip
def test_refused_arguments_are_found_with_the_error(call: str, message: str | None) -> None:
    found = to_change(f"import mindspore as ms\nfrom mindspore import nn\n{call}\n")
    assert len(found) == (message is not None)
    assert all(each.kind == "refused" and (message or "") in each.message for each in found)


def test_gpu_is_refused_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from mindspore import context\ncontext.set_context(device_target='GPU')\n"
    for installed in (None, object()):
        monkeypatch.setattr("minispore._cli.script_analysis.find_spec", lambda _, i=installed: i)
        assert ["CuPy" in each.message for each in to_change(text)] == [True] * (not installed)


PATTERNS = [
    (row, kind, text)
    for row in differences()
    for kind in ("refused", "differs")
    for text in row.get(kind, [])
]


@pytest.mark.parametrize(("row", "kind", "text"), PATTERNS, ids=[each[2] for each in PATTERNS])
def test_rows_are_found_at_their_names_and_calls(row: dict[str, Any], kind: str, text: str) -> None:
    """Further arguments may be required; an argument of `...` must be given."""
    call = text.replace("...", "value").replace("(", "(**rest, ")
    for package in ("mindspore", "minispore"):
        parts = call.replace("=nn.", f"={package}.nn.")
        found = Analysis(f"import {package}\n{package}.{parts}\n").findings
        assert (kind, row["topic"]) in {(each.kind, each.name) for each in found}
        assert any(row["ours"][:30] in each.message for each in found)
    arguments = parse_pattern(text).arguments
    if arguments is not None:
        name = text.partition("(")[0]
        found = Analysis(f"import mindspore\nmindspore.{name}(**rest)\n").findings
        assert not any(row["ours"][:30] in each.message for each in found) or all(
            value == signature(parse_pattern(name).target).parameters[key].default  # type: ignore[arg-type]
            for key, value in arguments.items()
        )


def test_loss_that_is_not_reduced_is_found_where_it_is_given_to_a_model() -> None:
    text = """
        from mindspore import nn, Model
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
        Model(nn.ReLU(), loss)
        Model(nn.ReLU(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
        Model(nn.ReLU(), nn.L1Loss("none"))
        nn.TrainOneStepCell(nn.WithLossCell(nn.ReLU(), loss), None)
    """
    assert [each.line for each in to_change(dedent(text))] == [4, 6, 7]


@pytest.mark.parametrize(
    "path", [*(ROOT / "examples").rglob("*.py"), ROOT / "examples" / "notebook.ipynb"], ids=str
)
def test_own_programs_need_no_changes(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-script", str(path)]) == 0
    assert ": 0 to change, " in capsys.readouterr().out


def test_installation_without_the_rows_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    assert differences() == []


def test_page_shows_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "coming-from.md").read_text("utf-8")
    program, printed = (
        page.partition(f"{start}\n")[2].partition("```")[0]
        for start in ('```python title="train.py"', "$ minispore check-script train.py")
    )
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": program})
    assert main(["check-script", "train.py"]) == 1
    assert capsys.readouterr().out == printed


# Copies.


def fixed(text: str) -> str:
    """Return the text of the copy."""
    return "\n".join(edited(text.split("\n"), Analysis(text).edits))


@given(programs([*PUBLIC_NAMES, *MISSING_NAMES]))
def test_copy_of_a_copy_is_unchanged(made: tuple[Program, str]) -> None:
    copy = fixed(made[0].text)
    assert fixed(copy) == copy
    assert len(to_change(copy)) <= len(to_change(made[0].text))
    words = copy.replace(" as mindspore", "").replace("(mindspore", "").replace(" mindspore.", "")
    assert "mindspore" not in words.replace("= mindspore", "").replace(", mindspore", "")


@given(st.sampled_from(table()["exact"]["minispore.numpy"].split()), st.booleans())
def test_names_with_an_exact_replacement_are_replaced(name: str, imports_ops: bool) -> None:
    assert is_replaced_exactly(f"minispore.numpy.{name}")
    assert is_supported(f"minispore.ops.{name}")
    other = "ops as F" if imports_ops else "nn"
    start = f"import mindspore.numpy as mnp\nfrom mindspore import {other}\n"
    copy = fixed(f"{start}print(mnp.{name}(x), 'mindspore')\n").splitlines()
    used = f"F.{name}" if imports_ops else f"mnp.{name}"
    assert copy == [
        *start.replace("mindspore", "minispore").splitlines(),
        f"print({used}(x), 'mindspore')",
    ]


def test_strings_comments_and_other_names_are_kept() -> None:
    text = 'import mindspore.nn, os\nx = "mindspore"  # mindspore\nmindspore.nn\nmindspore_x = 1\n'
    assert fixed(text) == (
        'import minispore.nn, os\nx = "mindspore"  # mindspore\nminispore.nn\nmindspore_x = 1\n'
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_copy_keeps_encoding_and_line_ends(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, copy = tmp_path / "a.py", tmp_path / f"a{SUFFIX}.py"
    text = f"# coding: latin-1\r\nx = 'é'; import mindspore as ms{end}"
    script.write_bytes(text.encode("latin-1"))
    for _ in range(2):
        assert main(["check-script", "--fix", str(script)]) == 0
        assert f"{copy}: a copy of {script} " in capsys.readouterr().out
    assert script.read_bytes() == text.encode("latin-1")
    assert copy.read_bytes() == text.replace("mindspore", "minispore").encode("latin-1")
    assert main(["check-script", "--fix", str(copy)]) == 0
    assert "no copy is written" in capsys.readouterr().out
    copy.write_text("mine", "utf-8")
    assert main(["check-script", "--fix", str(script)]) == 2
    assert "would replace the file" in capsys.readouterr().err
    assert copy.read_text("utf-8") == "mine"


# Files.


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files, and return the first."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder / next(iter(files))


def test_modules_of_the_folder_are_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = "from mindspore.nn import Conv3d\n"
    script = write(
        tmp_path,
        {
            "main.py": "import net, os, lone.deep\nfrom src.layers import A\nfrom src import data",
            "net.py": f"import main\n{found}",
            "lone/deep.py": found,
            "src/__init__.py": "",
            "src/layers.py": f"from .base import B\nfrom . import own\n{found}",
            "src/base.py": f"from ..net import C\n{found}",
            "src/own/__init__.py": found,
            "src/data.py": found,
            "other.py": found,
        },
    )
    assert main(["check-script", str(script)]) == 1
    lines = capsys.readouterr().out.splitlines()
    files = {str(Path(line.split(":")[0]).resolve()) for line in lines[:-1]}
    names = ["net", "lone/deep", "src/layers", "src/base", "src/own/__init__", "src/data"]
    assert files == {str(tmp_path / f"{name}.py") for name in names}


def notebook(*sources: str | list[str]) -> str:
    """Return a notebook of cells; those that begin with "#" are text."""
    made = [
        {"cell_type": "markdown" if source[0] == "#" else "code", "source": source}
        for source in sources
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_cells_of_a_notebook_are_one_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells: list[str | list[str]] = [
        ["%matplotlib inline\n", "!pip install mindspore\n", "from mindspore import nn"],
        ["#", "mindspore"],
        "%%bash\nmindspore is no Python",
        "if True:\n    %time\nnn.Conv3d(1, 2)",
        "%%time\nnn.Dropout3d(1, 2)",
    ]
    script = write(tmp_path, {"a.ipynb": notebook(*cells)})
    assert main(["check-script", "--json", "--fix", str(script)]) == 1
    result = json.loads(capsys.readouterr().out)
    places = [(each["cell"], each["line"], each["column"]) for each in result["findings"]]
    assert places == [(4, 3, 4), (5, 2, 4)]
    copy = tmp_path / f"a{SUFFIX}.ipynb"
    assert result["copies"] == {str(script): str(copy)}
    first = ["%matplotlib inline\n", "!pip install mindspore\n", "from minispore import nn"]
    assert json.loads(copy.read_text("utf-8")) == json.loads(notebook(first, *cells[1:]))
    assert main(["check-script", str(script)]) == 1
    assert f"{script}:cell 4:3:4: missing minispore.nn.Conv3d: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.py", b"print 1\n", ", line 1, is no Python 3: "),
        ("a.py", b"x = 1\n\nif x\n", ", line 3, is no Python 3: "),
        ("a.py", b"\xff", "is no text: "),
        ("a.py", b"# coding: absent\n", "is no text: "),
        ("a.py", b"x\0", "is no Python 3: "),
        ("a.py", b"-" * 100_000 + b"1", "is no Python 3"),
        ("a.ipynb", b"{}", "is no notebook: "),
        ("a.ipynb", b"[", "is no notebook: "),
        ("a.ipynb", notebook("x", "y\nif z").encode(), ", cell 2, line 2, is no Python 3: "),
        ("a.py", None, "cannot be read: No such file or directory"),
        (".", None, "cannot be read: "),
    ],
)
def test_files_that_are_no_scripts_are_one_sentence(
    name: str, content: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert main(["check-script", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("minispore check-script: error: the file ")
    assert words in err
    assert err.count("\n") == 1


@given(programs([*PUBLIC_NAMES, *MISSING_NAMES]))
def test_json_has_the_findings_and_the_status_says_if_there_are_any(
    made: tuple[Program, str],
) -> None:
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as printed:
        script = write(Path(folder), {"a.py": made[0].text})
        status = main(["check-script", "--json", str(script)])
    result = json.loads(printed.getvalue())
    findings = [Finding(*(row[n] for n in Finding.__annotations__)) for row in result["findings"]]
    assert findings == Analysis(made[0].text).findings
    assert status == bool(to_change(made[0].text))
    assert result["files"] == [str(script)]
