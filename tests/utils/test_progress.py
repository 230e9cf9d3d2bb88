"""Progress bars of tqdm start no thread."""

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tqdm

import minispore
from minispore import tensorpack, train
from minispore.testing import Scenario
from minispore.utils.progress import progress_bar


@pytest.mark.parametrize("callback", [train.ProgressBar, tensorpack.ProgressBar])
def test_bars_of_a_run_start_no_thread(
    callback: type[train.Callback], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tqdm.tqdm, "monitor", None)  # of bars that other tests have shown
    before = set(threading.enumerate())
    Scenario().run([callback()])
    assert set(threading.enumerate()) <= before


def test_a_bar_is_redrawn_however_the_speed_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of tqdm would redraw a bar whose updates have become slow."""
    now = 0.0
    drawn = io.StringIO()
    with progress_bar(total=2000, file=drawn, disable=False, mininterval=1.0) as bar:
        monkeypatch.setattr(bar, "_time", lambda: now)
        bar.start_t = bar.last_print_t = 0.0
        for step in range(1, 2001):
            now += 0.002 if step <= 1990 else 5.0
            bar.update()
            if step > 1990:
                assert f"{step}/2000" in drawn.getvalue()


def test_other_modules_do_not_import_tqdm() -> None:
    """They import it for type checkers only."""
    root = Path(minispore.__file__).parent
    importing = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search("import.*tqdm|tqdm.*import", line) and line != "    from tqdm import tqdm"
    }
    assert importing == {"utils/progress.py"}


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
def test_a_bar_is_shown_in_a_terminal_without_a_size() -> None:
    import pty

    master, slave = pty.openpty()  # with 0 rows and columns
    program = (
        "from minispore.utils.progress import progress_bar\n"
        "with progress_bar(total=3, desc='drawing') as bar: bar.update(3)"
    )
    subprocess.run([sys.executable, "-c", program], stderr=slave, check=True)
    os.close(slave)
    assert b"drawing: 100%" in os.read(master, 4096)
    os.close(master)
