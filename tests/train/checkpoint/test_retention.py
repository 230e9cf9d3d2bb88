"""Retention of files: the newest are kept, and missing files do not count."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.checkpoint.retention import RetainedFiles

NAMES = st.sampled_from("abcd")


@given(st.lists(st.tuples(NAMES, st.sets(NAMES), st.integers(1, 3)), max_size=6))
@example([("a", set(), 3), ("b", set(), 3), ("a", set(), 3), ("c", set(), 2)])
@example([("a", set(), 3), ("b", set(), 3), ("c", {"b", "c"}, 2), ("d", set(), 3)])
def test_newest_files_that_exist_are_kept(steps: list[tuple[str, set[str], int]]) -> None:
    """In each step a file is added, the user removes others, and the files are pruned."""
    with TemporaryDirectory() as folder:
        files, expected = RetainedFiles(), list[Path]()
        for name, removed, count in steps:
            path = Path(folder, name)
            path.touch()
            files.add(str(path))
            expected = [*(file for file in expected if file != path), path]
            for gone in removed:
                Path(folder, gone).unlink(missing_ok=True)
            there = {*Path(folder).iterdir()}
            files.prune_to(count)
            if len(expected) > count:
                expected = [file for file in expected if file in there][-count:]
            assert list(files) == list(map(str, expected))
            assert {*Path(folder).iterdir()} == there & {*expected}
