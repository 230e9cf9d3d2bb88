"""What a notebook shows of each object, and a notebook that runs."""

import json
import os
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given

from minispore import Parameter, Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.testing import record_events
from minispore.train import History, Model
from tests.common.strategies import Arrays, arrays
from tests.helpers.stub_models import Rows, X, make

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


class _Shown(Protocol):
    def _repr_html_(self) -> str: ...


def shown(value: _Shown) -> str:
    """Return the texts of an object's HTML, which must be well-formed."""
    return " ".join(ET.fromstring(f"<p>{value._repr_html_()}</p>").itertext())


@given(arrays())
def test_tensor_shows_its_shape_and_type(array: Arrays) -> None:
    for value in (Tensor(array), Parameter(array, name="<w>")):
        assert f"{array.shape} {value.dtype}" in shown(value)
    assert "<w>" in shown(Parameter(array, name="<w>"))


def test_objects_show_what_they_consist_of() -> None:
    data = NumpySlicesDataset({"x": X, "y": X}, shuffle=False).map(np.abs, "x").batch(2)
    assert all(word in shown(data) for word in ("absolute", "rows=2", "x, y"))
    assert repr(data).endswith(
        "Map(functions=[absolute], inputs=['x'], outputs=['x']) → Batch(rows=2)>"
    )

    assert "9 parameters, 9 of them trained" in shown(nn.Dense(2, 3))

    model, history = Model(nn.Dense(4, 3), nn.MSELoss(), metrics={"a": "mse"}), History()
    assert "MSELoss" in shown(model)
    assert repr(model) == "<Model: network=Dense, loss_fn=MSELoss, optimizer=None, metrics=['a']>"

    with record_events() as trace:
        make({"accuracy"}).fit(3, Rows(), Rows(), callbacks=history)
    assert repr(history).startswith("<History: 3 epochs, latest {'net_output': ")
    assert "net_output" in shown(history)
    assert "accuracy" in shown(history)
    assert repr(trace) == f"<EventTrace: {len(trace)} events, 1 callbacks>"
    _, page, _ = trace._repr_html_().replace("srcdoc=", "").rsplit('"', 2)
    assert unescape(page) == trace.to_html()


def test_history_shows_numbers_only() -> None:
    history = History()
    history.history = {"net_output": [0.5], "matrix": [np.eye(2)]}
    assert "matrix" not in shown(history)
    assert "net_output" in shown(history)


def test_notebook_of_the_examples_runs() -> None:
    """Every cell runs in one namespace; with nbclient, in a kernel."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    namespace: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), namespace)


@pytest.mark.full
def test_notebook_of_the_examples_runs_in_a_kernel(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    # In a process of its own: the client replaces the handlers of signals.
    code = f"""if True:
        import nbclient, nbformat
        notebook = nbformat.read({str(NOTEBOOK)!r}, 4)
        nbclient.NotebookClient(notebook, timeout=120).execute()
        nbformat.write(notebook, {str(tmp_path / "executed.ipynb")!r})
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNDEFAULTENCODING"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=tmp_path)
    notebook = nbformat.read(tmp_path / "executed.ipynb", 4)
    types = {
        name
        for cell in notebook.cells
        for out in cell.get("outputs", [])
        for name in out.get("data", {})
    }
    assert {"text/html", "image/svg+xml"} <= types
