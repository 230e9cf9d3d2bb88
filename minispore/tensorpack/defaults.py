"""What tensorpack's trainers have without being asked."""

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.averages import MergeAllSummaries, MovingAverageSummary
from minispore.tensorpack.event_writer import TFEventWriter
from minispore.tensorpack.json_writers import JSONWriter
from minispore.tensorpack.monitors import ScalarPrinter
from minispore.tensorpack.progress import ProgressBar
from minispore.tensorpack.running import RunUpdateOps


def DEFAULT_CALLBACKS() -> list[Callback]:  # noqa: N802 (tensorpack's name)
    """Return the callbacks that a training usually has.

    Source: tensorpack.train.DEFAULT_CALLBACKS.
    """
    return [MovingAverageSummary(), ProgressBar(), MergeAllSummaries(), RunUpdateOps()]


def DEFAULT_MONITORS() -> list[MonitorBase]:  # noqa: N802 (tensorpack's name)
    """Return the monitors that a training usually has.

    Source: tensorpack.train.DEFAULT_MONITORS.
    """
    return [TFEventWriter(), JSONWriter(), ScalarPrinter()]
