"""auc: the area under a curve, a ROC curve say."""

from typing import Any

import numpy as np
import numpy.typing as npt


def auc(x: npt.NDArray[Any], y: npt.NDArray[Any], reorder: bool = False) -> float:
    """Return the area under the curve through the points (x, y), by trapezoids.

    Args:
        x: from left to right or from right to left, of shape (N,) or (N, 1), with N at least 2.
        y: of as many elements.
        reorder: sort the points first, by x and then by y.

    Raises:
        TypeError: if one of both is no numpy array.
        ValueError: for another shape, or if `x` goes to and fro.

    Source: mindspore.train.auc.

    Examples:
        >>> import numpy as np
        >>> from minispore.train import ROC
        >>> fpr, tpr, _ = ROC()([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
        >>> auc(fpr, tpr)
        0.75
    """
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        raise TypeError(
            "For 'auc', the arguments 'x' and 'y' must be numpy.ndarray, "
            f"but got {type(x)} and {type(y)}."
        )
    across, up = _points(x, "x"), _points(y, "y")
    if len(across) != len(up):
        raise ValueError(
            "For 'auc', the arguments 'x' and 'y' must have one length, "
            f"but got {len(across)} and {len(up)}."
        )
    if len(across) < 2:
        raise ValueError(f"For 'auc', there must be at least 2 points, but got {len(across)}.")
    if reorder:
        order = np.lexsort((up, across))
        across, up = across[order], up[order]
    widths = np.diff(across)
    direction = -1 if (widths <= 0).all() else 1
    if (direction * widths < 0).any():
        raise ValueError(
            "For 'auc', the argument 'x' must be increasing or decreasing if 'reorder' is False, "
            f"but got {x}."
        )
    return float(direction * (widths * (up[1:] + up[:-1])).sum() / 2)


def _points(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    if values.ndim != 1 and not (values.ndim == 2 and values.shape[1] == 1):
        raise ValueError(
            f"For 'auc', the argument '{name}' must have shape (N,) or (N, 1), "
            f"but got {values.shape}."
        )
    return values.astype(np.float64).ravel()
