"""An event file while it grows: what is there is whole, and where it was."""

from pathlib import Path

import pytest

from minispore.train.summary._files import EventFile
from minispore.train.summary._records import framed


def test_a_file_that_somebody_has_removed_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "events"
    file = EventFile(str(path))
    file.append(b"one")
    assert path.read_bytes() == framed(b"one")
    path.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="The file has been removed") as raised:
            file.append(b"two")
        assert raised.value.filename == str(path)
    file.close()
    assert not path.exists()
