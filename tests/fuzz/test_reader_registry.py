"""The registry of readers lists every module that reads files."""

import ast
from pathlib import Path

import minispore
from tests.fuzz.reader_registry import READERS

PACKAGE = Path(minispore.__file__).parent
CALLS = {
    *("open", "read_bytes", "read_text", "load", "loads", "fromfile", "GzipFile"),
    "open_checkpoint",
}

# Why no reader covers a module that reads: it reads no file of a user, a crash or a network.
REASONS = {
    "dataset/_labelled_images_dataset.py": "calls the functions that read",
    "dataset/_workers.py": "reads what its parent process has just sent",
    "utils/atomic.py": "writes",
    "utils/unsupported.py": "reads a file of the package",
    "_cli/differences.py": "reads a file of the package",
    "_cli/inspection.py": "opens an image for Pillow",
    "_cli/output.py": "opens the null device",
    "_cli/script_analysis.py": "reads a file of the package",
    "_cli/training.py": "the options of a run; its own tests damage it",
    "_course/browser.py": "an archive of a learner's files; its own tests damage it",
    "_course/lessons/lesson_11_persist.py": "reads what a submission has just written",
    "_course/playground_server.py": "opens a page in a browser; its own tests send it requests",
    "_course/pages.py": "pages that come with the package",
    "_course/reports.py": "copies of submissions, for a comparison; damaged ones are left out",
    "_course/playground.py": "files of the package, and what its parent process has written",
    "_course/solutions/run_log_11.py": "an exercise whose laws damage the file",
    "_course/sandbox.py": "reads what its child process has just written",
    "_course/translation.py": "reads a file of the package",
    "_course/verdict.py": "reads the copy of a submission; its own tests damage it",
    "_course/worker.py": "reads the kernel's /proc/self/statm",
    "_course/workspace.py": "a record of ten lines; its own tests damage it",
    "testing/_page.py": "reads files of the package",
    "train/summary/event_writer.py": "writes",
    "tensorpack/trackers.py": "reads /proc/meminfo, the kernel's",
}


def reads(module: Path) -> bool:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            # `stored.load` and the like are functions of the package.
            if name in CALLS and not (name == "load" and isinstance(called, ast.Name)):
                return True
    return False


def test_registry_covers_all_reading_modules() -> None:
    reading = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if reads(path)}
    assert all(reader.modules for reader in READERS)
    covered = {module for reader in READERS for module in reader.modules}
    assert not covered & REASONS.keys()
    assert reading == covered | REASONS.keys()


def test_readers_have_different_names() -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)
