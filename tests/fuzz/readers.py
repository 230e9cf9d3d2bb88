"""The table of all readers of files in the package."""

from .checkpoint_readers import CHECKPOINT_READERS
from .event_readers import EVENT_READERS
from .idx_readers import IDX_READERS
from .law import Reader
from .resume_readers import RESUME_READERS
from .text_readers import TEXT_READERS

READERS: tuple[Reader, ...] = (
    *IDX_READERS,
    *CHECKPOINT_READERS,
    *EVENT_READERS,
    *TEXT_READERS,
    *RESUME_READERS,
)
