"""Retention of files: missing files do not count."""

from pathlib import Path

from minispore.train.checkpoint.retention import RetainedFiles


def test_removed_newer_files_are_ignored(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcd"]
    for path in paths:
        path.touch()
    kept = RetainedFiles(map(str, paths[:3]))
    paths[1].unlink()
    paths[2].unlink()
    kept.add(str(paths[3]))
    kept.prune_to(3)
    assert list(kept) == [str(paths[0]), str(paths[3])]
    assert paths[0].exists()
