"""Which Python code runs in a step: the package's, that of libraries, and the user's."""

import gc
import os
import sys
from enum import property as enum_property
from os.path import dirname, join
from types import CodeType, FrameType
from typing import Final

import numpy as np

from minispore.common._object_state import STDLIB
from minispore.graph.tape import Tape

_ROOT: Final = join(dirname(dirname(__file__)), "")
# This package and those below it. The code of those above is judged as a program's.
_PACKAGES: Final = (
    *("__init__", "_metrics", "common", "communication", "context", "dataset", "engine", "graph"),
    *("log", "nn", "ops", "utils"),
)
_FILES: Final = tuple(join(_ROOT, f"{name}{end}") for name in _PACKAGES for end in (os.sep, ".py"))
# The modules whose code depends on its arguments and on attributes of cells only.
_PURE: Final = tuple(
    join(_ROOT, *path.split("/"))
    for path in (
        "engine/",
        "graph/",
        "nn/",
        "ops/",
        "common/dtype.py",
        "utils/checks.py",
    )
)
_IMPURE: Final = (join(_ROOT, "ops", "summary.py"),)
_NUMPY: Final = join(dirname(np.__file__), "")
# Functions written in Python that depend on their arguments and on guarded attributes only, though
# their instructions do not show it.
_PURE_CODE: Final = frozenset([enum_property.__get__.__code__])
# Python's modules that call others' code for the package: `isinstance` may ask any class, and an
# import any finder.
_CALL_ANY: Final = ("abc", "importlib._bootstrap")


def in_package(code: CodeType) -> bool:
    """Return whether code belongs to graph mode or to what it knows."""
    return code.co_filename.startswith(_FILES)


def is_of_package(kind: type) -> bool:
    """Return whether a class is defined in such code."""
    top, package, *_ = f"{kind.__module__}.".split(".")
    return top == "minispore" and package in _PACKAGES


class Watch:
    """Notes which Python code runs.

    Args:
        tape: While it is paused, nothing is noted.

    Attributes:
        package: The package's code.
        library: Functions of Python and numpy that the package has called.
        other: All other code: the user's, and functions of libraries that the user's code calls.
    """

    def __init__(self, tape: Tape) -> None:
        self.package: set[CodeType] = set()
        self.library: set[CodeType] = set()
        self.other: set[CodeType] = set()
        self._tape = tape
        self._collects = gc.isenabled()

    def start(self) -> None:
        """Begin."""
        # The garbage collector would call code that has nothing to do with the step.
        gc.disable()
        sys.setprofile(self._note)

    def stop(self) -> None:
        """End; it may be called again."""
        sys.setprofile(None)
        if self._collects:
            gc.enable()

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or self._tape.paused:
            return
        code = frame.f_code
        if in_package(code) or _is_generated(frame):
            self.package.add(code)
        elif code in _PURE_CODE or _is_for_package(frame):
            self.library.add(code)
        else:
            self.other.add(code)

    def impure(self) -> str | None:
        """Return the code of the package that depends on more than its arguments, if any."""
        for code in self.package:
            file = code.co_filename
            if in_package(code) and (not file.startswith(_PURE) or file in _IMPURE):
                return f"it calls '{code.co_name}' of '{file.removeprefix(_ROOT)}'"
        return None


def _is_generated(frame: FrameType) -> bool:
    """Return whether a frame runs a method of a named tuple, or of a data class of the package."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename == "<string>" and module.startswith(
        ("namedtuple_", "minispore.")
    )


def _is_library(frame: FrameType) -> bool:
    """Return whether a frame runs code of numpy or of Python itself, without site-packages."""
    top, file = str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename
    if top not in sys.stdlib_module_names:
        return file.startswith(_NUMPY)
    # Code in an archive may name the file that it was compiled from, which was elsewhere.
    places = tuple(join(at, f"{top}{end}") for at in STDLIB for end in (os.sep, ".py"))
    return file.startswith("<frozen ") or str(frame.f_globals.get("__file__")).startswith(places)


def _is_for_package(frame: FrameType) -> bool:
    """Return whether a frame runs code of a library that the package calls."""
    is_library, caller = _is_library(frame), frame.f_back
    while caller is not None and not in_package(caller.f_code):
        calls_any = caller.f_globals.get("__name__") in _CALL_ANY
        is_library = _is_library(caller) and (is_library or calls_any)
        caller = caller.f_back
    return is_library and caller is not None
