"""Synthetic handwritten digits, generated without a download.

For each image a drawing of the digit is chosen (`_skeletons`: the data), its knots are interpolated
to points along the pen's path (`_strokes`), the points are distorted at random (`_geometry`), and
the strokes are rendered (`_render`). `generate` returns arrays, `write` writes MNIST's four files.

The tutorial's network (784-512-512-10, SGD, batches of 64), trained only on 60,000 of these images,
classifies MNIST's 10,000 real test images with an accuracy of 83.5 % after one epoch and 92.3 %
after ten at learning rate 0.01, and of 93.4 % after five at 0.1.

Its modules import `utils`.
"""

from minispore.dataset.digits._generate import generate as generate
from minispore.dataset.digits._write import write as write
