# The names of the module; each is imported when it is first used.

from minispore.train.summary.decode import read_events as read_events
from minispore.train.summary.event import Event as Event
from minispore.train.summary.event import Histogram as Histogram
from minispore.train.summary.event import Image as Image
from minispore.train.summary.event import Landscape as Landscape
from minispore.train.summary.event import Value as Value
from minispore.train.summary.lineage import EvaluationLineage as EvaluationLineage
from minispore.train.summary.lineage import TrainLineage as TrainLineage
from minispore.train.summary.summary_record import SummaryRecord as SummaryRecord
