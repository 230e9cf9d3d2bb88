"""The list of callbacks in tensorpack's tutorial runs as printed.

The text of the tutorial is in `../shared/seeds`; the test is skipped without it.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from minispore import nn
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TEXTS = sorted(SEEDS.glob("004_*.txt"))


@pytest.mark.skipif(not TEXTS, reason="no ../shared/seeds with the tutorial's text")
def test_tensorpack_callbacks_run_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXTS[0].read_text("utf-8")
    (arguments,) = re.findall(r"^```python\n(callbacks=.*?)^```$", text, re.MULTILINE | re.DOTALL)
    # The stored text has the backslash at the end of a line twice.
    arguments = arguments.replace("\\\\\n", "\\\n")

    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    curl = programs / "curl"
    curl.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/sent\n', "ascii")
    curl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(tp.logger, "_folder", {})
    tp.logger.set_logger_dir(log)

    rows = np.random.default_rng(1).standard_normal((32, 6)).astype(np.float32)
    columns = {"x": rows, "y": rows.argmax(axis=1).astype(np.int32)}
    data = NumpySlicesDataset(columns, shuffle=False).batch(8)
    network = nn.Dense(6, 6)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    namespace: dict[str, object] = {
        "dataset_train": data,
        "dataset_val": data,
        "model": Model(network, nn.CrossEntropyLoss(), optimizer),
    }
    exec("from minispore.tensorpack import *", namespace)
    call = f"TrainConfig(dataflow=dataset_train, model=model, max_epoch=2, {arguments})"
    exec(f"launch_train_with_config({call})", namespace)

    stats = json.loads((log / "stats.json").read_text("utf-8"))
    errors = [row["val-error-top1"] for row in stats]
    assert (tmp_path / "sent").read_text("ascii").splitlines() == [
        "-u", "your_id_xxx:", "https://api.pushbullet.com/v2/pushes", "-d", "type=note",
        "-d", "title=validation error", "-d", f"body={errors[-1]}",
    ]  # fmt: skip
    names = {path.name.split(".")[0] for path in log.iterdir()}
    assert names == {"events", "min-val-error-top1", "model-4", "model-8", "stats"}
    # The default callbacks, which the list contains, are not called twice.
    assert capsys.readouterr().out.count("100%") == 2
