"""The notebooks of the lessons and how-to pages: they run, and contain the whole page."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypedDict, cast
from urllib.parse import unquote

import pytest

import minispore as ms
from minispore._cli import main
from minispore._course import lessons
from minispore._course.notebook import notebook
from minispore.drawing import Drawing, Page
from tests.helpers.pages import english_pages
from tests.helpers.replays import needs_replays
from tests.helpers.scripts import SCRIPTS, load_script

DOCS = Path(__file__).parents[2] / "docs"
WORKFLOW = DOCS.parent / ".github" / "workflows" / "docs.yml"
# Libraries that some programs show, and that the tests do not install.
OPTIONAL = {"datasets", "jax", "mlflow", "onnx", "optuna", "pandas", "sklearn", "torch", "wandb"}
# Their programs take more than a second.
SLOW = {"00-thirty-lines", "testing", "inspect", "14-properties"}


# What the programs of a page must print, in this order.
PRINTED = {
    "checkpoints": ("True\n", "saved: best-", "inside outside\n"),
    "fine_tuning": ("not loaded: ['head.weight', 'head.bias']\n",),
    "images": ("{'accuracy': 0.9", "two is read as two\n"),
    "problems": ("hidden.weight nan", "scores.weight 0.0", "accuracy 100%\n", "on_train_end\n"),
    "tables": ("accuracy\n0.9", "predicted 28", "[70.5, nan]\n[70.5]\n"),
    "texts": ("→ good\n", "→ bad\n", "Classifier {'accuracy': 0.", "Reader {'accuracy': 1.0}\n"),
    "callbacks": (*("epoch 1 of 3", "epoch 2 of 3", "epoch 3 of 3", "updates: 2\n", "8 losses\n"),),
    "data": (
        *("(64, 1, 28, 28) Int32\n", "[0, 4, 16, 0, 4, 16]\n", "(28, 28, 1) "),
        *["(64, 28, 28, 1)\n"] * 3,
    ),
    "extend": ("equal: True\n",),
    "gradients": ("[10. 20.]\n", "[2.]\n"),
    "testing": ("resume: ", "KeyboardInterrupt\n"),
    "graph_mode": ("1 observed, 2 captured, 7 replayed, 0 eager", "3 replayed, 0 eager"),
    "metrics": ("'accuracy': 0.9", "matrix\n[[", "F1 of each class\n[0.9", "0.75\n", "0.5\n")
    + ("{'within one': 1.0}\n",) * 2,
}
# A program, and what the page says that it prints, if its library may be missing.
PROGRAM = re.compile(
    r"^```python\n.*?^```$(?:\n\n```printed\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)


class Cell(TypedDict):
    cell_type: str
    source: list[str]


class NotebookBuilder(Protocol):
    """The functions of docs/scripts/notebooks.py."""

    def has_notebook(self, name: str, text: str) -> bool: ...
    def as_notebook(self, text: str) -> str: ...
    def address(self) -> str: ...
    def with_installation(self, text: str, repository: str) -> str: ...
    def links(self, name: str, text: str, repository: str) -> str: ...


builder = cast("NotebookBuilder", load_script(SCRIPTS / "notebooks.py"))
MARKS = dict.fromkeys(SLOW, pytest.mark.full) | {"graph_mode": needs_replays}
PAGES = [
    pytest.param(page, id=page.stem, marks=MARKS.get(page.stem, ()))
    for page in english_pages("**/*.md")
    if builder.has_notebook(page.relative_to(DOCS).as_posix(), page.read_text("utf-8"))
]


def cells_of(text: str, kind: str) -> list[str]:
    cells = cast("Mapping[str, list[Cell]]", json.loads(text))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def display(value: object) -> None:
    assert isinstance(value, Drawing | Page)


@pytest.fixture(autouse=True)
def _mode() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("page", PAGES)
def test_notebook_of_a_page_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    made = builder.as_notebook(text)
    programs = cells_of(made, "code")
    if page.parent.name == "learn" and programs[-1] == "!minispore learn run":
        programs.pop()  # for Jupyter
    assert len(programs) == len(re.findall(r"^```python$", text, re.MULTILINE)) > 0
    assert not re.search(r"^(!!!|--8<--|```source)", "".join(cells_of(made, "markdown")))
    namespace: dict[str, object] = {"__name__": "__main__", "display": display}
    printed = ""
    recorded = [match[1] for match in PROGRAM.finditer(text)]
    for number, program in enumerate(programs, 1):
        try:
            exec(compile(program, f"<{page.stem}, cell {number}>", "exec"), namespace)
        except ModuleNotFoundError as error:
            # Such a program begins with its imports.
            if error.name not in OPTIONAL:
                raise
            continue
        out = capsys.readouterr().out
        if (expected := recorded[number - 1]) is not None:
            assert out.rstrip() == expected.rstrip()
        printed += out
    for expected in PRINTED.get(page.stem, ()):
        assert expected in printed
        printed = printed.partition(expected)[2]


def test_learn_notebook_writes_a_lesson_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in lessons.names():
        arguments = ["learn", "notebook", str(number), "--folder", str(tmp_path)]
        assert main(arguments) == 0
        page = DOCS.parent / lessons.page(number)
        written = (tmp_path / page.with_suffix(".ipynb").name).read_text("utf-8")
        assert written == builder.as_notebook(page.read_text("utf-8"))
        capsys.readouterr()
        assert main(arguments) == 2
        assert "already exists" in capsys.readouterr().err


def test_the_site_s_markdown_becomes_plain_markdown() -> None:
    page = (
        "See [lesson 2](02-rules.md#a), [`C`][x] and [a paper](https://a.org).\n\n"
        '``` { .python }\nx\n```\n\n!!! note "Title"\n\n    text\n\nmore\n'
    )
    (text,) = cells_of(notebook(page), "markdown")
    assert text == (
        "See lesson 2, [`C`][x] and [a paper](https://a.org).\n\n"
        "```python\nx\n```\n\n**Title**\n\ntext\n\nmore"
    )


@pytest.mark.parametrize(
    ("repository", "sites"),
    [("", []), ("https://github.com/o/r", ["Colab", "Binder"]), ("https://x.org/o/r", ["Binder"])],
)
def test_links_lead_to_the_notebook_and_to_the_sites_that_open_it(
    repository: str, sites: list[str]
) -> None:
    text = builder.links("learn/1.ipynb", "Notebook", repository)
    assert text.startswith("[Notebook](1.ipynb){ .notebook download }")
    links = re.findall(r"\[(\w+)\]\((https:[^)]+)\)", text)
    assert [site for site, _ in links] == sites
    for _, link in links:
        assert link.endswith("learn/1.ipynb")
        assert "/gh-pages" in link
        assert repository.removeprefix("https://github.com/") in unquote(link)


def test_notebook_installs_minispore_if_the_repository_has_an_address() -> None:
    page = "# Title\n\nText.\n\n```python\nx = 1\n```\n"
    assert builder.with_installation(page, "") == page
    text = builder.as_notebook(builder.with_installation(page, "https://x.org/o/r"))
    assert cells_of(text, "code") == ["%pip install --quiet git+https://x.org/o/r", "x = 1"]


@pytest.mark.skipif(not WORKFLOW.is_file(), reason="a source distribution has no workflows")
@pytest.mark.parametrize("repository", ["", "https://x.org/o/r"])
def test_workflow_publishes_the_site_of_the_repository_at_the_address(
    repository: str, tmp_path: Path
) -> None:
    project = (DOCS.parent / "pyproject.toml").read_text("utf-8")
    line = f'repository = "{builder.address()}"'
    assert project.count(f"\n{line}\n") == 1
    project = project.replace(line, f'repository = "{repository}"')
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")
    workflow = WORKFLOW.read_text("utf-8")
    command = re.findall(r"^ +run: (sed .*) >> ", workflow, re.MULTILINE)
    done = subprocess.run(["bash", "-c", *command], cwd=tmp_path, check=True, capture_output=True)
    assert done.stdout.decode() == f"address={repository}\n"
    assert "needs.build.outputs.address == format('{0}/{1}', github.server_url," in workflow
