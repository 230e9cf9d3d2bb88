"""Readers of training states: runs that are resumed from both formats and from backups."""

import json
from contextlib import redirect_stdout
from functools import cache, partial
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from minispore import nn, set_seed, train
from minispore.common.seed import get_rng_state
from minispore.dataset import NumpySlicesDataset
from minispore.train.checkpoint import checkpoint_file, safetensors_file
from minispore.train.checkpoint.storage import Value
from minispore.train.protocol.dataset import SupportsState
from minispore.train.protocol.training_state import ENTRY, _checksum
from minispore.train.resume import encode
from minispore.train.serialization import load_checkpoint
from tests.fuzz.reader_contract import Reader

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
Y = (np.arange(6) % 3).astype(np.int32)
Floats = npt.NDArray[np.float32]


def data() -> NumpySlicesDataset:
    def noisy(x: Floats) -> Floats:
        return x + np.float32(np.random.random())  # noqa: NPY002 (a resumed run repeats it)

    rows = NumpySlicesDataset({"x": X, "y": Y}).map(noisy, ["x"])
    return rows.batch(2)  # type: ignore[return-value]


def model() -> train.Model:
    net = nn.Dense(4, 3)
    return train.Model(
        net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1, momentum=0.9)
    )


def callbacks(folder: Path) -> list[train.Callback]:
    config = train.CheckpointConfig(2, append_info=["training_state"])
    return [
        train.LossMonitor(0),
        train.TimeMonitor(),
        train.History(),
        train.EarlyStopping("loss", patience=5),
        train.ReduceLROnPlateau("loss", patience=5),
        train.ModelCheckpoint("m", folder / "saved", config),
    ]


@cache
def seeds(*, backup: bool = False) -> tuple[bytes, ...]:
    """Return files saved within and at the end of an epoch, or a backup."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        set_seed(1)
        listed = callbacks(folder)
        if backup:
            listed.append(train.BackupAndRestore(folder / "saved", delete_checkpoint=False))
        with redirect_stdout(StringIO()):
            model().train(2, data(), listed)
        names = "backup.ckpt" if backup else "m-*.ckpt"
        return tuple(path.read_bytes() for path in sorted(folder.glob(f"saved/{names}")))


@cache
def parts(file: bytes) -> tuple[str, dict[str, Value]]:
    """Return the text of a file's training state, and its other values."""
    with TemporaryDirectory() as name:
        path = Path(name, "x.ckpt")
        path.write_bytes(file)
        loaded = load_checkpoint(path)
    text = loaded.pop(ENTRY)
    assert isinstance(text, str)
    others = {name: v if isinstance(v, str) else v.asnumpy() for name, v in loaded.items()}
    return text.partition(" ")[2], others


def signed(text: bytes, *, safetensors: bool = False, backup: bool = False) -> bytes:
    """Return a file with this text as its training state, and with a valid checksum."""
    _, others = parts(seeds(backup=backup)[0])
    state = text.decode(errors="surrogateescape" if not safetensors else "replace")
    entries = {name: v for name, v in others.items() if name.startswith(ENTRY)}
    arrays = {name: v for name, v in entries.items() if not isinstance(v, str)}
    whole = f"{_checksum(state, arrays):08x} {state}"
    entry: Value = np.frombuffer(whole.encode(), np.uint8) if safetensors else whole
    file = BytesIO()
    write = safetensors_file.write if safetensors else checkpoint_file.write
    values = [(name, v) for name, v in others.items() if not (safetensors and isinstance(v, str))]
    write(file, [*values, (ENTRY, entry)])
    return file.getvalue()


def states(of: list[train.Callback]) -> list[object]:
    """Return the states of the callbacks, without those of times."""
    stateful = [c for c in of if isinstance(c, SupportsState)]
    return [dict(c.state_dict()) for c in stateful if not isinstance(c, train.TimeMonitor)]


def resume(path: Path, *, backup: bool = False, of_folder: bool = False) -> None:
    """Resume and train to the end; or raise an error, without a change."""
    set_seed(1)
    trained = model()
    listed = callbacks(path.parent)
    argument = path.parent if of_folder else path
    if backup:
        listed.append(train.BackupAndRestore(path.parent))
    remembered = states(listed)
    before = [p.asnumpy().copy() for p in trained.train_network.get_parameters()]
    random_state = encode(get_rng_state(), "")
    try:
        with redirect_stdout(StringIO()):
            trained.train(3, data(), listed, resume=None if backup else argument)
    except ValueError as error:
        # It was resumed: a callback may reject an output that the state holds.
        if any("the callback's hook" in note for note in getattr(error, "__notes__", ())):
            return
        after = [p.asnumpy() for p in trained.train_network.get_parameters()]
        assert all(map(np.array_equal, after, before))
        assert states(listed) == remembered
        text, arrays = encode(get_rng_state(), "")
        assert text == random_state[0]
        assert all(np.array_equal(arrays[name], random_state[1][name]) for name in arrays)
        raise
    finally:
        for saved in path.parent.glob("saved/*"):
            saved.unlink()


def resume_from_backup(path: Path) -> None:
    resume(path, backup=True)


def resume_from_folder(path: Path) -> None:
    try:
        resume(path, of_folder=True)
    except ValueError as error:  # it names the folder, and the files in it
        if f"'{path.parent}'" in str(error) and f"'{path.name}'" in str(error):
            error.add_note(str(path))
        raise


def texts(*, backup: bool = False) -> tuple[bytes, ...]:
    return tuple(parts(file)[0].encode() for file in seeds(backup=backup))


def with_state(key: str, value: object) -> bytes:
    """The text of a state with another value."""
    state = inner = json.loads(texts()[0])
    *path, last = key.split(".")
    for part in path:
        inner = inner[part]
    inner[last] = value
    return json.dumps(state).encode()


BIG = 2**63
STATE_EXAMPLES = {
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 5_000 + b"0" + b"}" * 5_000,
    "no object": b"3",
    "no lists": with_state("callbacks", 3),
    "no savers": with_state("savers", [99]),
    "a saver that is none": with_state("savers", [0]),
    "a state too few": with_state("states", {}),
    "epochs without end": with_state("data.number", BIG),
    "batches without end": with_state("data.taken", BIG),
    "rows without end": with_state("data.source.taken", BIG),
    "epochs of rows without end": with_state("data.source.epoch", BIG),
    "a seed below zero": with_state("data.source.seed", -1),
    "a seed of the program below zero": with_state("random.program.seed", -1),
    "a seed that is a text": with_state("random.program.seed", "1"),
    "entropy below zero": with_state(
        "random.program", {"seed": None, "entropy": -1, "streams": {}}
    ),
    "no streams": with_state("random.program.streams", []),
    "words that are none": with_state("random.python.words", [1]),
    "words too few": with_state("random.numpy.state.key", [1]),
    "a place beyond the words": with_state("random.numpy.state.pos", 10**9),
    "a place before the words": with_state("random.numpy.state.pos", -1),
    "a version of later": with_state("version", 2),
    "an array that is not there": with_state("net_outputs", [{"$tensor": [99]}]),
    "an array of another shape": with_state("net_outputs", [{"$tensor": [0, 3, BIG]}]),
    "an array of texts": with_state("net_outputs", [{"$array": ["x"]}]),
    "an array of nothing": with_state("net_outputs", [{"$array": []}]),
    "a dict of no pairs": with_state("net_outputs", [{"$dict": [1]}]),
    "a dict of lists": with_state("net_outputs", [{"$dict": [[[], 1]]}]),
    "a lone surrogate": with_state("callbacks", ["\ud800"]),
    "a parameter with a lone surrogate": with_state("parameters", ["\ud800"]),
    "another dataset": with_state("data.source.pipeline", ["\ud800"]),
    "a step below zero": with_state("step", -1),
    "a step beyond floats": with_state("step", 10**400),
    "an epoch below zero": with_state("epoch", -1),
    "an epoch that is none": with_state("epoch", 1.5),
}

RESUME_READERS = (
    Reader(
        "resume", "x.ckpt", seeds(), resume, share=0.1,
        modules=("train/protocol/training_state.py",),
    ),
    Reader(
        "training state", "x.ckpt", texts(), resume,
        text=True, wrap=signed, examples=STATE_EXAMPLES, share=0.25,
        modules=("train/protocol/training_state.py",),
    ),
    Reader(
        "training state in safetensors", "x.safetensors", texts(), resume,
        text=True, wrap=partial(signed, safetensors=True), share=0.1,
        modules=("train/protocol/training_state.py",),
    ),
    Reader(
        "backup", "backup.ckpt", texts(backup=True), resume_from_backup,
        text=True, wrap=partial(signed, backup=True), share=0.1,
        modules=("train/protocol/training_state.py",),
    ),
    Reader(
        "folder to resume from", "x.ckpt", texts(), resume_from_folder,
        text=True, wrap=signed, examples=STATE_EXAMPLES, share=0.1,
        modules=("train/resume/newest_checkpoint.py",),
    ),
)  # fmt: skip
