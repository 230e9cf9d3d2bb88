"""Handwritten-looking digits, drawn by the package: data to train on where no network is.

The way of an image: a drawing of the digit is chosen (`_skeletons`: the data), its knots become
points along the pen's path (`_strokes`), a hand varies and places them (`_geometry`), and ink is
laid around them (`_render`). `generate` gives arrays, `write` gives MNIST's four files.
"""

from minispore.dataset.digits._generate import generate as generate
from minispore.dataset.digits._write import write as write
