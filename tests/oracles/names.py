"""The public names of MindSpore's modules.

`names.txt` has a line for each module: its name, a colon, and its names. Run by a Python that has
MindSpore (the recorded names are those of 2.10), from the root of the project, this prints it:

    python -m tests.oracles.names > tests/oracles/names.txt
"""

from importlib import import_module
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")
MODULES = (
    "mindspore", "mindspore.common.dtype", "mindspore.common.initializer",
    "mindspore.communication", "mindspore.context", "mindspore.dataset",
    "mindspore.dataset.transforms", "mindspore.dataset.vision", "mindspore.log", "mindspore.nn",
    "mindspore.ops", "mindspore.train", "mindspore.train.callback",
)  # fmt: skip


def recorded() -> dict[str, list[str]]:
    """Return the recorded names of each module of MindSpore."""
    lines = FILE.read_text("utf-8").splitlines()
    return {module: names.split() for module, _, names in (line.partition(":") for line in lines)}


def main() -> None:
    for name in MODULES:
        module = import_module(name)
        names = getattr(module, "__all__", dir(module))
        public = {n for n in names if str(n).isidentifier() and not n.startswith("_")}
        print(f"{name}: {' '.join(sorted(public))}")


if __name__ == "__main__":
    main()
