"""Transforms of images (height, width, channels), in MindSpore's float32 arithmetic.

Its modules import `engine` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
