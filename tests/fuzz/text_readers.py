"""Readers of text: hyper-parameters, rows of numbers, JSON of requests, traces and landscapes."""

import json
import math
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from minispore._cli.arguments import parse
from minispore._cli.check_script import check_script
from minispore._cli.errors import UserError
from minispore.tensorpack import JSONLWriter, JSONWriter
from minispore.tensorpack.param import HyperFile
from minispore.testing import Event, EventTrace
from minispore.train import Model, OnRequestExit, RunContext
from minispore.train.callback._summary_landscape import read_metadata
from minispore.train.protocol.callback import InternalCallbackParam
from minispore.utils.checks import is_dict, is_list
from tests.fuzz.reader_contract import Reader
from tests.helpers.stub_models import Batches, ConstantLoss

DEEP = b"[" * 100_000
LONG = b"9" * 5_000  # digits, more than Python turns into an int


def nested(before: bytes, after: bytes, depth: int = 100_000) -> bytes:
    return before * depth + after * depth


# Hyper-parameters: every file is accepted, and invalid lines are reported.


def read_hyper(path: Path) -> None:
    file = HyperFile(str(path))
    for _ in range(2):
        values, wrong = file.read()
        assert all(name == name.strip() and name for name in values)
        assert all(math.isfinite(value) for value in values.values())
        assert all(line.isprintable() and len(line) < 300 for line in wrong)
        assert len(wrong) <= 20


HYPER = (
    b"learning_rate: 0.1\n# then\nmomentum : 9e-1 # high\n\nweight_decay:0",
    "größe: 1\r\nrate: -2\r\n".encode(),
)

# Scripts and notebooks: what `minispore check-script` reads.


SCRIPT = b"import mindspore as ms\nfrom mindspore import nn\n\nnn.Dense(2, 3)\nms.nn.Absent()\n"
CELLS = {
    "cells": [
        {"cell_type": "markdown", "source": ["text"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import mindspore.nn as nn\n"]},
        {"cell_type": "code", "source": "nn.Absent\n"},
    ]
}
NOTEBOOK = json.dumps(CELLS).encode()


def read_script(path: Path) -> None:
    with redirect_stdout(StringIO()) as printed:
        check_script(parse(["check-script", "--json", str(path)]))
    assert json.loads(printed.getvalue())["files"] == [str(path)]


# Rows.


ROWS = [{"loss": 0.5, "epoch_num": n, "global_step": 2 * n} for n in (1, 2)]
JSON_ROWS = (json.dumps(ROWS).encode(), b"[]\n", b'[{"loss": null, "epoch_num": 1}]\n')
JSONL_ROWS = ("".join(f"{json.dumps(row)}\n" for row in ROWS).encode(), b"")


def read_rows(path: Path) -> None:
    rows = JSONWriter.load_existing_json(path.parent)
    assert rows is not None
    check_rows(rows)
    number = JSONWriter.load_existing_epoch_number(path.parent)
    assert number is None or type(number) is int


def check_rows(rows: object) -> None:
    assert is_list(rows)
    for row in rows:
        assert is_dict(row)
        for value in row.values():
            assert value is None or type(value) in {int, float}
            assert isinstance(value, int | float | None)
            assert math.isfinite(value or 0)


def write_json_on(path: Path) -> None:
    """Start a run with epoch 3, which appends to the rows or renames the file."""
    before = path.read_bytes()
    Model(ConstantLoss()).train(3, Batches(1), [JSONWriter(path.parent)], initial_epoch=2)
    rows = json.loads(path.read_bytes(), parse_constant=_none)
    _went_on(path, before, rows)


def write_jsonl_on(path: Path) -> None:
    before = path.read_bytes()
    Model(ConstantLoss()).train(3, Batches(1), [JSONLWriter(path.parent)], initial_epoch=2)
    lines = path.read_bytes().splitlines()
    _went_on(path, before, [json.loads(line, parse_constant=_none) for line in lines])


def _went_on(path: Path, before: bytes, rows: list[object]) -> None:
    check_rows(rows)
    ours = rows[-1]
    assert isinstance(ours, dict)
    assert (ours["epoch_num"], ours["loss"]) == (3, 0.5)
    aside = list(path.parent.glob(f"{path.name}.*"))
    if len(rows) > 1 or not aside:
        assert not aside
    else:
        [moved] = aside
        assert moved.read_bytes() == before
        moved.unlink()


def _none(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


ROW_EXAMPLES = {
    "nested": DEEP,
    "nested objects": nested(b'{"a":', b"}"),
    "a long number": b'[{"loss": %s}]\n' % LONG,
    "a text for an epoch": b'[{"epoch_num": "2"}]\n',
    "a list for an epoch": b'[{"epoch_num": [2]}]\n',
    "an endless epoch": b'[{"epoch_num": 1e999}]\n',
    "an epoch beyond floats": b'[{"epoch_num": %s}]\n' % (b"9" * 400),
    "an epoch that is none": b'[{"epoch_num": NaN}]\n',
    "a truth": b'[{"epoch_num": true}]\n',
    "no UTF-8": b'[{"\xff": 1}]\n',
    "no list": b"{}\n",
    "no objects": b"[[]]\n",
    "a mark of order": b'\xef\xbb\xbf[{"loss": 1}]\n',
    "a lone surrogate": b'[{"\\ud800": 1}]\n',
}
LINE_EXAMPLES = {name: data.strip(b"[]\n") + b"\n" for name, data in ROW_EXAMPLES.items()} | {
    "nested": DEEP + b"\n",
    "no end": b'{"loss": 1}',
    "an empty line": b"\n\n",
}


# Requests to end a run: what is no request is none.


def read_request(path: Path) -> None:
    callback = OnRequestExit(save_ckpt=False, config_file=path, sig=())
    context = RunContext(InternalCallbackParam())
    callback.on_train_step_end(context)
    try:
        config: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        config = None
    found = config if is_dict(config) else {}
    asked = found.get("GracefulExit") == 1
    assert context.get_stop_requested() == asked


REQUESTS = (b'{"GracefulExit": 1}', b'{"GracefulExit": 0, "other": [1, 2.5, null]}')


# Traces.


TRACE = EventTrace(
    [
        Event("run"),
        Event("on_train_begin", depth=1, start=0.5, duration=0.25),
        Event(
            "on_train_begin",
            "History",
            2,
            1,
            3,
            True,
            "ValueError",
            0.5,
            0.125,
            ("w", "learning_rate from 0.1 to 0.05"),
        ),
    ]
)


def saved(ending: str) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder, f"x{ending}")
        TRACE.save(path)
        return path.read_bytes()


def read_trace(path: Path) -> None:
    trace = EventTrace.load(path)
    assert len(trace.tree(durations=False)) <= path.stat().st_size + 50_000 * len(trace)
    again = path.with_name(f"again{path.suffix}")
    trace.save(again)
    loaded = EventTrace.load(again)
    assert loaded == trace
    assert [(e.start, e.duration) for e in loaded] == [(e.start, e.duration) for e in trace]


def _line(**fields: str) -> bytes:
    line = saved(".jsonl").splitlines()[0].decode()
    event = json.loads(line)
    for name, text in fields.items():
        line = line.replace(f'"{name}": {json.dumps(event[name])}', f'"{name}": {text}')
    return line.encode() + b"\n"


TRACE_EXAMPLES = {
    "a depth of 2³¹": _line(depth=str(2**31)),
    "a depth below zero": _line(depth="-1"),
    "no time": _line(start="NaN"),
    "an endless time": _line(duration="1e999"),
    "nested": DEEP,
    "a long number": _line(step=LONG.decode()),
    "a long name": _line(name=json.dumps("x" * 50_000)),
    "a lone surrogate": _line(name='"\\ud800"'),
    "no UTF-8": b'{"\xff": 1}',
    "nothing changed, by an earlier version": _line().replace(b', "changed": []', b""),
    "changes without names": _line(changed="[0]"),
    "many changes": _line(changed=json.dumps(["w"] * 50_000)),
    "many keys": b"{" + b",".join(b'"%d": 0' % n for n in range(5_000)) + b"}",
}


# What a loss landscape is made from.


METADATA = {
    "epoch_group": {"0": [1, 2, 3]},
    "model_params_file_map": {"1": "a_1.ckpt", "2": "a_2.ckpt", "3": "a_3.ckpt"},
    "step_per_epoch": 4,
    "unit": "epoch",
    "num_samples": 8,
    "landscape_size": 4,
    "create_landscape": {"train": True, "result": False},
}


def metadata_with(key: str, value: object) -> bytes:
    return json.dumps(METADATA | {key: value}).encode()


def read_landscape(path: Path) -> None:
    metadata = read_metadata(str(path))
    for numbers in metadata.intervals:
        assert all(type(number) is int for number in numbers)
    for number, file in metadata.files.items():
        assert type(number) is int
        assert file
        assert "\0" not in file
    assert type(metadata.step_per_epoch) is int
    assert 3 < metadata.options.landscape_size < 256


TEXT_READERS = (
    Reader(
        "hyper-parameters",
        "hyper.txt",
        HYPER,
        read_hyper,
        (),
        text=True,
        examples={
            "a long line": b"x" * 100_000 + b"\n",
            "many lines": b"x\n" * 10_000,
            "a bell": b"\x07\x1b[31m\n",
            "digits of no number": "rate: ٣\nrate: 1_0\n".encode(),
            "an endless number": b"rate: 1e999\nrate: nan\n" + b"rate: " + b"9" * 10_000 + b"\n",
        },
        modules=("tensorpack/param.py",),
    ),
    Reader(
        "rows", "stats.json", JSON_ROWS, read_rows, text=True, examples=ROW_EXAMPLES,
        modules=("tensorpack/monitors.py",),
    ),
    Reader(
        "rows to continue", "stats.json", JSON_ROWS, write_json_on, (), text=True,
        examples=ROW_EXAMPLES, share=0.2,
        modules=("tensorpack/monitors.py",),
    ),
    Reader(
        "lines to continue", "stats.jsonl", JSONL_ROWS, write_jsonl_on, (), text=True,
        examples=LINE_EXAMPLES, share=0.2,
        modules=("tensorpack/monitors.py",),
    ),
    Reader(
        "request to end", "exit.json", REQUESTS, read_request, (), text=True,
        examples={
            "nested": DEEP,
            "a long number": b'{"GracefulExit": %s}' % LONG,
            "no UTF-8": b'{"\xff": 1}',
        },
        modules=("train/callback/_on_request_exit.py",),
    ),
    Reader(
        "trace", "x.jsonl", (saved(".jsonl"),), read_trace, text=True, examples=TRACE_EXAMPLES,
        modules=("testing/_trace.py", "_cli/commands.py"),
    ),
    Reader("trace for browsers", "x.json", (saved(".json"),), read_trace, text=True,
        examples={
            "nested": DEEP, "a number": b"1", "a list": b"[]", "no events": b'{"traceEvents": 1}',
        },
        modules=("testing/_trace.py", "_cli/commands.py"),
    ),
    Reader(
        "landscape's metadata", "train_metadata.json", (json.dumps(METADATA).encode(),),
        read_landscape, text=True,
        examples={
            "nested": DEEP,
            "no groups": metadata_with("epoch_group", [1]),
            "a file that is none": metadata_with("model_params_file_map", {"1": 2}),
            "a file with a NUL": metadata_with("model_params_file_map", {"1": "a\0"}),
            "a number that is none": metadata_with("model_params_file_map", {"one": "a"}),
            "a size of 2³¹": metadata_with("landscape_size", 2**31),
        },
        modules=("train/callback/_summary_landscape.py",),
    ),
    Reader(
        "script", "script.py", (SCRIPT,), read_script, (UserError,), text=True,
        memory=8 * 2**20,
        examples={
            "nested": b"(" * 10_000 + b"1",
            "a long number": b"x = " + LONG,
            "no UTF-8": b"x = '\xff'",
            "an encoding that is none": b"# coding: absent",
            "a NUL": b"x = 1\0",
        },
        modules=("_cli/check_script.py",),
    ),
    Reader(
        "notebook", "notebook.ipynb", (NOTEBOOK,), read_script, (UserError,), text=True,
        memory=8 * 2**20,
        examples={
            "nested": DEEP,
            "no object": b"[]",
            "cells that are a number": b'{"cells": 1}',
            "a cell that is a number": b'{"cells": [1]}',
            "a cell without source": b'{"cells": [{"cell_type": "code"}]}',
            "lines that are numbers": b'{"cells": [{"cell_type": "code", "source": [1]}]}',
        },
        modules=("_cli/check_script.py",),
    ),
)  # fmt: skip
