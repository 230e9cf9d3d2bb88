"""`import minispore` is light: it loads numpy, itself, and nothing that only some programs need."""

import subprocess
import sys

# What is imported where it is used, because most programs that import minispore never use it.
LATER = {
    "argparse", "asyncio", "cupy", "email", "gzip", "http", "hypothesis", "inspect", "json",
    "matplotlib", "pooch", "requests", "safetensors", "scipy", "socket", "tempfile", "torch",
    "tqdm", "typing_extensions", "unittest", "urllib.request",
}  # fmt: skip


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after one statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_minispore_loads_only_what_every_program_needs() -> None:
    new = modules_after("import minispore") - modules_after("import numpy")
    assert not {name for name in new if {name, name.partition(".")[0]} & LATER}


def test_importing_minispore_loads_no_third_party_package_but_numpy() -> None:
    new = modules_after("import minispore") - modules_after("import numpy")
    tops = {name.partition(".")[0] for name in new} - set(sys.stdlib_module_names)
    # numpy's own submodules bring Cython's run time with them.
    assert {top for top in tops if "cython" not in top} <= {"minispore", "numpy"}
