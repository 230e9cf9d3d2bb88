"""The table is whole: a module that reads a file is tried by some reader, or only writes."""

import ast
from pathlib import Path

import minispore

from .readers import READERS

PACKAGE = Path(minispore.__file__).parent
CALLS = {"open", "read_bytes", "read_text", "load", "loads", "fromfile", "GzipFile"}

# By module what is tried; for those that read nothing that a user, a crash or a network has made,
# the reason.
READ_BY: dict[str, tuple[str, ...] | str] = {
    "dataset/_idx.py": ("idx", "idx.gz", "idx in gzip", "idx header", "images of MNIST"),
    "dataset/digits/_write.py": ("marker of the digits",),
    "dataset/download.py": ("download",),
    "tensorpack/hyper_params.py": ("hyper-parameters",),
    "tensorpack/json_writers.py": ("rows", "rows to go on with", "lines to go on with"),
    "testing/_trace_files.py": ("trace", "trace for browsers"),
    "train/_files/converting.py": ("ckpt to safetensors", "safetensors to ckpt"),
    "train/_files/loading.py": (
        "ckpt",
        "ckpt, in the background",
        "ckpt into a network",
        "safetensors",
    ),
    "train/_files/safetensors_file.py": ("safetensors header",),
    "train/_state_values.py": ("training state", "training state in safetensors", "backup"),
    "train/callback/_landscape_metadata.py": ("landscape's metadata",),
    "train/callback/_on_request_exit.py": ("request to end",),
    "train/summary/_decode.py": ("events", "event"),
    "_atomic.py": "writes",
    "_cli/__init__.py": "opens the null device",
    "_cli/history.py": "a table of numbers, of which its own tests have the damage",
    "_cli/tracing.py": ("trace", "trace for browsers"),
    "_course/checking.py": "reads what its own child process has just written",
    "_course/child.py": "reads the kernel's /proc/self/statm",
    "_course/folder.py": "a record of ten lines, of which its own tests have the damage",
    "testing/_page.py": "reads its own parts, which come with the package",
    "train/summary/_files.py": "writes",
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


def test_no_module_that_reads_is_forgotten() -> None:
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if reads(path)}
    assert found == READ_BY.keys()


def test_all_that_is_named_is_in_the_table() -> None:
    named = {name for names in READ_BY.values() if isinstance(names, tuple) for name in names}
    assert named <= {reader.name for reader in READERS}
    assert len({reader.name for reader in READERS}) == len(READERS)
