"""The functions that the module for CuPy defines, as far as that can be read without a GPU."""

import ast
from pathlib import Path

from minispore.engine.array import _numpy as numpy_names


def test_cupy_module_defines_the_functions_cupy_lacks() -> None:
    path = Path(numpy_names.__file__ or "").with_name("_cupy.py")
    defined = {
        name
        for node in ast.parse(path.read_text("utf-8")).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef)
            else [t.id for t in node.targets if isinstance(t, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    }
    assert {
        "assign",
        "stop_gradient",
        "getitem",
        "scatter_add",
        "to_host",
        "is_available",
    } <= defined
