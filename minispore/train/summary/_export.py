"""Tensors of a summary as files of numpy beside the event files."""

import os
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from minispore._atomic import replacing
from minispore._checks import check_type

_FORMATS: Final = (None, "npy")


def check_options(options: object, owner: str) -> dict[str, str]:
    """Return the export options that ask for something; TypeError or ValueError for others."""
    check_type(options, dict, "export_options", owner, none=True)
    given = cast("dict[object, object]", options or {})
    unknown = [key for key in given if key != "tensor_format"]
    if unknown:
        raise ValueError(
            f"For '{owner}', the keys {unknown} of 'export_options' are unsupported, "
            "expect the follow keys: ['tensor_format']"
        )
    wanted = given.get("tensor_format")
    if wanted not in _FORMATS:
        raise ValueError(
            f"For '{owner}', the 'tensor_format' of 'export_options' must be one of "
            f"{list(_FORMATS)}, but got {wanted!r}."
        )
    return {} if wanted is None else {"tensor_format": str(wanted)}


def export(folder: str, name: str, step: int, array: NDArray[np.generic]) -> None:
    """Save a tensor as `folder`/tensor/name_step.npy, the name quoted as in a URL."""
    from urllib.parse import quote

    inner = os.path.join(folder, "tensor")
    os.makedirs(inner, exist_ok=True)
    with replacing(os.path.join(inner, f"{quote(name, safe='')}_{step}.npy")) as file:
        np.save(file, array)
