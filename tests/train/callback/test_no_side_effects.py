"""Resuming is not refused because of settings that do not affect training."""

import re
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, nn, train
from minispore.dataset import NumpySlicesDataset, transforms, vision
from minispore.testing import strategies as some
from minispore.train.resume import TrainingState, read_training_checkpoint
from minispore.train.resume.fingerprint import fingerprint
from tests.helpers.processes import run_python
from tests.train.scripts import PROGRAM, Script, adam, pipeline, program, saving, sgd


def test_resume_accepts_changed_epochs_folders_and_printing(tmp_path: Path) -> None:
    names = program('"epochs": 1', '"epochs": 3')
    first = program()
    script = Script(net=first["Own"], data=lambda: pipeline([first["noise"]]))
    file = script.run(tmp_path / "a")
    longer = Script(
        net=names["Own"],
        data=lambda: pipeline([names["noise"]]),
        callbacks=lambda folder: [train.LossMonitor(7), saving(folder)],
    )
    longer.run(tmp_path / "b", file, epochs=3)
    assert (tmp_path / "b" / "m-3_3.ckpt").exists()


def test_stateless_saver_may_be_removed(tmp_path: Path) -> None:
    def callbacks(folder: Path) -> list[train.Callback]:
        return [train.BackupAndRestore(folder / "backup", delete_checkpoint=False), saving(folder)]

    Script(callbacks=callbacks).run(tmp_path / "a")
    file = tmp_path / "a" / "backup" / "backup.ckpt"
    with pytest.warns(UserWarning, match="were BackupAndRestore, ModelCheckpoint, and are now Mod"):
        Script(callbacks=lambda folder: [saving(folder)]).run(tmp_path / "b", file, epochs=2)


def test_state_of_older_version_resumes_with_warning(tmp_path: Path) -> None:
    file = Script().run(tmp_path / "a")
    result = read_training_checkpoint(file)
    values = {key: item for key, item in result.values.items() if key != "fingerprint"}
    listed = [{"name": name, "data": x} for name, x in result.parameters.items()]
    old = tmp_path / "old.ckpt"
    train.save_checkpoint(listed, old, append_dict=TrainingState.of(values).entries())
    with pytest.warns(UserWarning, match="but its settings are not known, since an older version"):
        Script(seed=2).run(tmp_path / "b", old)


# Equal values have equal descriptions.


@given(st.data())
def test_unchanged_run_always_resumes(
    tmp_path_factory: pytest.TempPathFactory, draws: st.DataObject
) -> None:
    """Also with the same objects, which the first run has modified."""
    net = draws.draw(some.cells(2, 3, dropout=True))
    data = draws.draw(some.datasets(2, 3))
    makes = [sgd(), adam(learning_rate=nn.CosineDecayLR(0.01, 0.1, 30)), rates]
    optimizer = draws.draw(st.sampled_from(makes))(net)
    roots = {"network": net, "optimizer": optimizer, "train_dataset": data}
    before = fingerprint(**roots)
    config = train.CheckpointConfig(1, append_info=["training_state"])
    saver = train.ModelCheckpoint("m", tmp_path_factory.mktemp("run"), config)
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(1, data, [Halve(), saver])
    assert fingerprint(**roots) == before
    model.train(2, data, [Halve(), saver], resume=saver.latest_ckpt_file_name)


def rates(net: nn.Cell) -> nn.Optimizer:
    return nn.Momentum(net.trainable_params(), [0.1] * 999, 0.9)


class Halve(train.Callback):
    """Halve the parameters of the optimizer that a user may set."""

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        optimizer = run_context.original_args().optimizer
        for name in ("learning_rate", "momentum"):
            value = getattr(optimizer, name, None)
            if isinstance(value, Parameter):
                value.set_data(value / 2)


@pytest.mark.full
def test_fingerprint_is_equal_in_another_process(tmp_path: Path) -> None:
    """Hashes and addresses differ in another process."""
    file = tmp_path / "script.py"
    file.write_text(f"{PROGRAM}{DESCRIBED}", "utf-8")
    result = [run_python(file, environment={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert result[0] == result[1]
    assert not re.search(r"0x[0-9a-f]{6}", result[0])


DESCRIBED = """
from minispore import set_seed
from minispore.dataset import GeneratorDataset
from minispore.train.resume.fingerprint import fingerprint

WORDS = {"a", "b", "c", "d", "e", "f"}

def chosen(x, words=frozenset(["x", "y", "z"])):
    return x if "g" in {"u", "v", "w", "g"} or "k" in WORDS else helper(x)

set_seed(1)
data = GeneratorDataset(rows, ["x", "y"])
for each in (chosen, Add(1), Add(2).apply, outer(3), partial(noise, times=2), len, np.sin,
             lru_cache(noise), np.vectorize(noise), [1].append, (i for i in "ab")):
    data = data.map(each if callable(each) else noise, ["x"])
found = fingerprint(
    network=Own(), others=[object(), np.random.default_rng(1), open(__file__), print, Own,
                           {Own: 1, "k": {1.5, None, "s"}}, np.array([Own()]), 3j, b"bytes"],
    train_dataset=data,
)
print(*[f"{path}: {text}" for path, text in found.items()], sep="\\n")
"""


def test_user_defined_objects_do_not_prevent_training() -> None:
    """None of their methods is called."""

    class Odd:
        def __getattribute__(self, name: str) -> object:
            raise RuntimeError(name)

    class Endless:
        def __init__(self) -> None:
            self.me = [self] * 9

        def __array__(self) -> object:
            raise AssertionError

        def __len__(self) -> int:
            raise AssertionError

    itself: list[object] = [1, 2, 3, 4, 5]
    itself.append(itself)
    deep: object = ()
    for _ in range(3000):
        deep = (deep,)

    def unbound() -> object:
        return later

    result = fingerprint(odd=Odd(), endless=Endless(), itself=itself, unbound=unbound, deep=deep)
    later = 1
    assert result["odd"] == "Odd()"
    assert result["endless"] == "Endless()"
    assert result["itself"].startswith("list of 6, #")
    assert result["unbound"].startswith("unbound, code #")
    assert result["deep" + 2900 * "[0]"] == "tuple of 1"
    assert unbound() == later


# The arguments of each layer and transform, and others, of which each changes the fingerprint.
SETTINGS = """
nn.Dense: in_channels=2, out_channels=2 | has_bias=False, activation="relu"
nn.Dropout: | keep_prob=0.9, p=0.1
nn.Flatten: | start_dim=2, end_dim=2
nn.Softmax: | axis=0
nn.LogSoftmax: | axis=0
nn.Conv2d: in_channels=2, out_channels=2, kernel_size=3, pad_mode="pad", padding=1 | \
    kernel_size=2, stride=2, padding=2, dilation=2, group=2, has_bias=True
nn.MaxPool2d: kernel_size=2, pad_mode="pad", padding=0 | \
    kernel_size=3, stride=2, padding=1, dilation=2, ceil_mode=True
nn.AvgPool2d: kernel_size=2, pad_mode="pad", padding=0 | \
    kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False, divisor_override=3
nn.BatchNorm2d: num_features=2 | eps=1e-3, momentum=0.5, use_batch_statistics=True
nn.LayerNorm: normalized_shape=(2, 2) | begin_norm_axis=1, epsilon=1e-3
nn.Embedding: vocab_size=3, embedding_size=2 | padding_idx=1, use_one_hot=True
vision.Normalize: mean=[0.5], std=[0.5] | mean=[0.25], std=[0.25]
vision.Resize: size=3 | size=4, interpolation=vision.Inter.NEAREST
vision.ToTensor: | output_type=np.float64
transforms.OneHot: num_classes=3 | num_classes=4, smoothing_rate=0.5
transforms.TypeCast: data_type=np.int32 | data_type=np.int64
transforms.Compose: transforms=[np.sin] | transforms=[np.cos]
"""


@pytest.mark.parametrize("row", SETTINGS.strip().splitlines())
def test_fingerprint_contains_each_setting(row: str) -> None:
    names = {"nn": nn, "np": np, "vision": vision, "transforms": transforms}
    kind, _, arguments = row.partition(":")
    make = eval(kind, names)
    settings, others = (eval(f"dict({part})", names) for part in arguments.split("|"))
    before = fingerprint(it=make(**settings))
    assert fingerprint(it=make(**settings)) == before
    for name, value in others.items():
        assert fingerprint(it=make(**settings | {name: value})) != before, (kind, name)


def test_fingerprint_is_small_and_fast() -> None:
    """For a network of a thousand layers and data of 200 MB."""
    net = nn.SequentialCell(nn.CellList([nn.Dense(1, 1) for _ in range(1000)]))
    data = NumpySlicesDataset(np.zeros((50_000, 1000), np.float32)).batch(10)
    start = process_time()
    result = fingerprint(network=net, train_dataset=data, loss_fn=None, optimizer=None)
    assert process_time() - start < 1
    assert len(str(result)) < 400_000
