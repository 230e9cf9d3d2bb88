"""CSVLogger: the rows of runs that are stopped and resumed."""

import csv
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import train
from minispore.train.metrics import Loss
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs, Rows, make

EVERY = 5


@given(st.integers(1, 2 * EVERY), st.none() | st.integers(1, 2 * EVERY))
@example(EVERY - 1, EVERY)
@example(EVERY, EVERY)
@example(2 * EVERY, EVERY)
def test_stopped_run_has_each_step_in_one_row(stop: int, every: int | None) -> None:
    with TemporaryDirectory() as folder:
        table = train.CSVLogger(Path(folder, "run.csv"), every)
        train.Model(ConstantLoss()).train(1, Batches(2 * EVERY), [stopping_at(stop), table])
        lines = Path(folder, "run.csv").read_text("utf-8").splitlines()
    assert lines[0] == "epoch,step,net_output"
    steps = [int(line.split(",")[1]) for line in lines[1:]]
    assert steps == [row["step"] for row in table.rows]
    assert steps == sorted({stop, *(range(every, stop + 1, every) if every else ())})


@given(st.integers(1, 4 * EVERY - 1))
@example(EVERY - 1)
@example(2 * EVERY)
def test_resumed_table_equals_that_of_one_run(stop: int) -> None:
    def run(folder: Path, last: int = 0, resume: Path | None = None) -> bytes:
        scores = {"accuracy": Loss()}
        model = train.Model(ConstantLoss(), None, None, scores, Outputs(), eval_indexes=[0, 1, 2])
        config = train.CheckpointConfig(2 * EVERY, append_info=["training_state"])
        callbacks = [
            stopping_at(last),
            train.CSVLogger(folder / "run.csv", EVERY),
            train.ModelCheckpoint("m", folder, config),
        ]
        model.fit(2, Batches(2 * EVERY), Batches(1), callbacks=callbacks, resume=resume)
        return (folder / "run.csv").read_bytes()

    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        straight = run(Path(one))
        assert straight.splitlines()[0] == b"epoch,step,net_output,accuracy"
        run(Path(other), stop)
        epoch, in_epoch = (stop - 1) // (2 * EVERY) + 1, (stop - 1) % (2 * EVERY) + 1
        assert run(Path(other), resume=Path(other, f"m-{epoch}_{in_epoch}.ckpt")) == straight


@given(st.data(), st.sampled_from([None, 1, 3]))
def test_file_that_was_damaged_is_whole_after_the_next_row_and_after_a_resume(
    data: st.DataObject, every: int | None
) -> None:
    """By a kill in the middle of a write, or by another program."""
    with TemporaryDirectory() as folder:
        path, reference = Path(folder, "run.csv"), Path(folder, "reference.csv")
        state: dict[str, object] = {}
        damage = data.draw(st.sampled_from(["kill", "truncate", "append", "remove"]))
        at = data.draw(st.integers(1, 5))

        def hurt(run_context: train.RunContext) -> None:
            if run_context.original_args().cur_epoch_num != at:
                return
            state.update(table.state_dict())
            content = path.read_bytes()
            if damage == "remove":
                path.unlink()
            elif damage == "append":
                path.write_bytes(content + b"7,7,\n")
            else:
                path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
            if damage == "kill":
                raise KeyboardInterrupt

        table, whole = train.CSVLogger(path, every), train.CSVLogger(reference, every)
        hurting = train.LambdaCallback(on_train_epoch_end=hurt)
        with suppress(KeyboardInterrupt):
            train.Model(ConstantLoss()).train(5, Batches(4), [whole, table, hurting])
        rows = reference.read_bytes()
        if damage == "kill":
            resumed = train.CSVLogger(path, every)
            context = train.RunContext({})
            context.request_resume("net.ckpt")
            resumed.on_train_begin(context)
            resumed.load_state_dict(state)
            assert path.read_bytes() == rows
        elif at < 5:
            assert path.read_bytes() == rows


def test_table_of_each_run_has_means_and_all_metrics(tmp_path: Path) -> None:
    """An evaluation that a resumed run repeats has a row of its own."""
    path = tmp_path / "run.csv"
    logger = train.CSVLogger(path, 2)
    for losses in ([9.0] * 3, [1.0, 3.0, 5.0, "no number"]):  # the first run fails
        path.write_text("of an earlier run", "utf-8")
        context = train.RunContext({"batch_num": 4, "cur_epoch_num": 1})
        params = context.original_args()
        logger.on_train_begin(context)
        assert path.read_text("utf-8") == "epoch,step,net_output\n"
        for step, loss in enumerate(losses, start=1):
            params.update(cur_step_num=step, net_outputs=loss)
            logger.on_train_step_end(context)
    for metrics in ({"mse": 0.5}, {"mse": 0.25}, {}):
        params.metrics = metrics
        logger.on_train_epoch_end(context)
    written = "epoch,step,net_output,mse\n1,2,2.0,\n1,4,nan,0.5\n1,4,,0.25\n"
    assert path.read_text("utf-8") == written
    context.request_resume("net.ckpt")
    logger.on_train_begin(context)
    assert path.read_text("utf-8") == written  # until the state is restored


SEPARATORS = st.sampled_from([",", ";", "\t", "|", " ", "1", ".", "'", "ä"])


@given(SEPARATORS, SEPARATORS, st.integers(1, 2))
@example(";", ",", 1)
def test_columns_are_separated_as_asked(separator: str, other: str, epochs: int) -> None:
    """A resumed run may separate them otherwise: the state does not depend on it."""
    with TemporaryDirectory() as folder:
        path, model = Path(folder, "run.csv"), make({"loss"})
        model._metrics['a, b; "c"\t|'] = Loss()
        table = train.CSVLogger(path, 1, separator)
        model.fit(epochs, Rows(8), Rows(8), callbacks=table)
        resumed = train.CSVLogger(path, 1, other)
        for written, by in ((table, separator), (resumed, other)):
            if written is resumed:
                resumed.load_state_dict(table.state_dict())
                assert resumed.rows == table.rows
            with path.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file, delimiter=by))
            assert len(rows) == 2 * epochs
            assert [{n: cell for n, cell in row.items() if cell} for row in rows] == [
                {name: str(value) for name, value in row.items()} for row in written.rows
            ]


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "\r", "\0", "\ud800"])
def test_separator_that_no_table_can_have_is_refused(separator: str) -> None:
    with pytest.raises(ValueError, match="For 'CSVLogger', the argument 'separator' must"):
        train.CSVLogger("run.csv", separator=separator)
