"""SummaryCollector: skipped results, and states without landscapes."""

from pathlib import Path

import pytest

from minispore import nn
from minispore.train import Metric, Model, SummaryCollector
from minispore.train.summary import read_events
from tests.helpers.stub_models import Rows


class Answers(Metric):
    """A metric with a constant result."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    def clear(self) -> None: ...

    def update(self, *inputs: object) -> None: ...

    def eval(self) -> object:
        return self.result


@pytest.mark.parametrize(("result", "written"), [(0.5, True), (2, True), ([0.5, 1.0], False)])
def test_only_numeric_results_are_written(tmp_path: Path, result: object, written: bool) -> None:
    net = nn.Dense(4, 3)
    metrics: dict[str, Metric] = {"answer": Answers(result)}
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params()), metrics=metrics)
    model.fit(1, Rows(), Rows(), callbacks=SummaryCollector(str(tmp_path)))
    events = [e for path in tmp_path.glob("*.summary.*_MS") for e in read_events(path)]
    values = {value.tag: value.content for event in events for value in event.values}
    assert values["loss/auto"]
    assert values.get("eval_answer/auto") == (result if written else None)


def test_state_ignores_files_without_landscape(tmp_path: Path) -> None:
    collector = SummaryCollector(str(tmp_path))
    collector.load_state_dict({"landscape_files": {"1": "net-1_2.ckpt"}})
    assert collector.state_dict() == {"landscape_files": {}}
