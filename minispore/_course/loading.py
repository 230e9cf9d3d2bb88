"""A learner's file as a module."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from minispore._course.errors import CourseError
from minispore._course.searching import described


def load(path: Path) -> ModuleType:
    """Run a file as a module with the file's name.

    Raises:
        CourseError: It cannot be read, is no Python, or raises an exception.
    """
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        text = (error.text or "").strip()
        raise CourseError(f"Line {error.lineno} is no Python: {error.msg} (`{text}`).") from None
    except (Exception, SystemExit) as error:
        raise CourseError(f"When the file was loaded, it raised {described(error)}.") from None
    return module
