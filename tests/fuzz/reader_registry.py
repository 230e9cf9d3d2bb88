"""The registry of all readers of files in the package."""

from tests.fuzz.checkpoint_readers import CHECKPOINT_READERS
from tests.fuzz.dataset_readers import DATASET_READERS
from tests.fuzz.event_readers import EVENT_READERS
from tests.fuzz.idx_readers import IDX_READERS
from tests.fuzz.reader_contract import Reader
from tests.fuzz.resume_readers import RESUME_READERS
from tests.fuzz.text_readers import TEXT_READERS

READERS: tuple[Reader, ...] = (
    *IDX_READERS,
    *DATASET_READERS,
    *CHECKPOINT_READERS,
    *EVENT_READERS,
    *TEXT_READERS,
    *RESUME_READERS,
)
