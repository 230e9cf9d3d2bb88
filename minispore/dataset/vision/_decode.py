"""Decoding of image files by Pillow."""

from io import BytesIO

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.transforms.transforms import Transform
from minispore.utils.arrays import UInt8Array


class Decode(Transform):
    """Decode the bytes of an image file to pixels (height, width, 3) of uint8, by Pillow.

    Of 16 bits a color, the upper 8 are taken.

    Args:
        to_pil: Must be False: images are arrays.

    Raises:
        ImportError: On use, if Pillow is missing.
        RuntimeError: On use, if the input is not of uint8 and one axis, or no image, or one with
            colors of 32 bits.

    Examples:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (4, 2)).save(file, "PNG")
        >>> Decode()(np.frombuffer(file.getvalue(), np.uint8)).shape
        (2, 4, 3)

    Source: MindSpore's `mindspore.dataset.vision.Decode`.
    """

    def __init__(self, to_pil: bool = False) -> None:
        if to_pil is not False:
            raise TypeError(
                f"For 'Decode', the argument 'to_pil' must be False, but got {to_pil!r}. Images "
                "are arrays; in a function, PIL.Image.fromarray makes an image of Pillow's."
            )

    def batched(self, block: Array) -> Array:
        """Decode all rows; their images must have one size, which files of one length may not."""
        if block.ndim != 2 or block.dtype != np.uint8:
            raise RuntimeError(
                "For 'Decode', the input must be the bytes of a file, of uint8 and one axis, but "
                f"got {block.dtype} of shape {block.shape[1:]}."
            )
        return np.stack([decode_image(row, "For 'Decode', the input") for row in block])


def decode_image(content: UInt8Array, subject: str) -> UInt8Array:
    """Return the pixels (height, width, 3) of the content of an image file.

    Args:
        content: The bytes of the file.
        subject: What is decoded, for messages.

    Raises:
        ImportError: If Pillow is missing.
        RuntimeError: If it is not an image, or one with colors of 32 bits.
    """
    try:
        from PIL.Image import open as open_image
    except ImportError as error:
        raise ImportError(
            "Decoding images needs the package 'pillow': pip install 'minispore[images]'."
        ) from error
    try:
        with open_image(BytesIO(content.tobytes())) as image:
            if image.mode.startswith("I;16"):  # Pillow's conversion cuts off at 255
                gray = (np.asarray(image) >> 8).astype(np.uint8)
                return np.repeat(gray[:, :, np.newaxis], 3, axis=2)
            if image.mode in ("I", "F"):
                raise ValueError(image.mode)
            return np.array(image.convert("RGB"))
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises errors of many types for damaged files
        raise RuntimeError(f"{subject} cannot be decoded as an image.") from error
