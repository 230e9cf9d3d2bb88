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

# The readers that cover each module; or, for a module that reads no file of a user, a crash or a
# network, the reason.
READ_BY: dict[str, tuple[str, ...] | str] = {
    "dataset/idx.py": ("idx", "idx.gz", "idx in gzip", "idx header", "images of MNIST"),
    "dataset/_cifar_datasets.py": ("CIFAR-10", "CIFAR-100"),
    "dataset/_csv_dataset.py": ("csv of numbers", "csv of strings"),
    "dataset/_image_folder_dataset.py": ("image",),
    "dataset/_sources.py": "calls the functions that read",
    "dataset/_workers.py": "reads what its parent process has just sent",
    "dataset/digits/_write.py": ("marker of the digits",),
    "dataset/download.py": ("download",),
    "tensorpack/param.py": ("hyper-parameters",),
    "tensorpack/monitors.py": ("rows", "rows to continue", "lines to continue"),
    "testing/_trace.py": ("trace", "trace for browsers"),
    "train/checkpoint/conversion.py": ("ckpt to safetensors", "safetensors to ckpt"),
    "train/checkpoint/loading.py": (
        "ckpt",
        "ckpt, async",
        "ckpt into a network",
        "safetensors",
    ),
    "train/checkpoint/safetensors_file.py": ("safetensors header",),
    "train/protocol/training_state.py": (
        "training state",
        "training state in safetensors",
        "backup",
    ),
    "train/callback/_summary_landscape.py": ("landscape's metadata",),
    "train/callback/_on_request_exit.py": ("request to end",),
    "train/summary/decode.py": ("events", "event"),
    "utils/atomic.py": "writes",
    "utils/unsupported.py": "reads a file of the package",
    "_cli/inspection.py": "opens an image for Pillow",
    "_cli/commands.py": ("trace", "trace for browsers"),
    "_cli/output.py": "opens the null device",
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
    assert reading == READ_BY.keys()


def test_named_readers_are_registered() -> None:
    named = {name for names in READ_BY.values() if isinstance(names, tuple) for name in names}
    assert named <= {reader.name for reader in READERS}
    assert len({reader.name for reader in READERS}) == len(READERS)
