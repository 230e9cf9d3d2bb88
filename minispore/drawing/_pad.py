"""A page on which one draws a digit that a network reads."""

import base64
import json
import os
import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from minispore.utils.atomic import atomic_write

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Draw a digit</title><style>
:root{color-scheme:light dark;font:14px system-ui,sans-serif}
body{margin:8px;display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}
canvas{width:196px;height:196px;border:1px solid #888;touch-action:none;cursor:crosshair;
  background:#fff}
@media (prefers-color-scheme:dark){canvas{filter:invert(.87)}}
figure{margin:0;position:relative;width:198px}
figcaption{position:absolute;top:6px;width:100%;text-align:center;color:#c2410c;pointer-events:none}
@media (prefers-color-scheme:dark){figcaption{color:#ff8a65}}
button{display:block;margin-top:6px;font:inherit}
ol{list-style:none;margin:0;padding:0;width:150px}
li{display:flex;gap:8px;align-items:center;line-height:20px}
meter{flex:1;height:14px}
</style></head><body>
<figure><canvas width="196" height="196"></canvas><figcaption></figcaption><button></button>
</figure><ol aria-live="polite"></ol>
<script>
const layers = LAYERS;
const image = IMAGE; // the pixels of the digit that is there at first, if any
const decode = ({data, scale, shape}) => ({shape, values: Float32Array.from(
  Int8Array.from(atob(data), (c) => c.charCodeAt(0)), (v) => v * scale)});
const weights = layers.map(decode);
const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
const list = document.querySelector("ol");
const meters = Array.from({length: 10}, (_, digit) => {
  const item = document.createElement("li"), meter = document.createElement("meter");
  item.append(String(digit), meter);
  list.append(item);
  return meter;
});
// In a frame of a Chinese page the words are Chinese.
const chinese = window.frameElement?.closest("[lang]")?.lang.startsWith("zh");
const [here, yours, empty] =
  chinese ? ["写一个数字", "请你来写", "清除"] : ["Draw a digit here", "Draw yours", "Clear"];
const hint = document.querySelector("figcaption"), button = document.querySelector("button");
button.textContent = empty;
button.onclick = clear;
canvas.setAttribute("aria-label", here);
let last = null;
const place = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top].map((at) => at * 196 / box.width);
};
canvas.onpointerdown = (event) => {
  canvas.setPointerCapture(event.pointerId);
  if (hint.textContent) clear();
  hint.textContent = "";
  stroke(last = place(event), last);
};
canvas.onpointermove = (event) => { if (last) stroke(last, last = place(event)); };
canvas.onpointerup = canvas.onpointercancel = () => { last = null; read(); };
function stroke([x, y], [to, down]) {
  pen.lineWidth = 15;
  pen.lineCap = "round";
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(to, down);
  pen.stroke();
  read();
}
function clear() {
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, 196, 196);
  for (const meter of meters) meter.value = 0;
  hint.textContent = here;
}
// As in MNIST: the digit fills 20 x 20 pixels, and its centre of mass is that of 28 x 28.
function pixels() {
  const drawn = ink(canvas, pen, 196);
  const at = [...drawn.keys()].filter((i) => drawn[i] > 0.1);
  if (!at.length) return null;
  const xs = at.map((i) => i % 196), ys = at.map((i) => Math.floor(i / 196));
  const bound = (values, pick) => values.reduce((a, b) => pick(a, b));
  const left = bound(xs, Math.min), top = bound(ys, Math.min);
  const width = bound(xs, Math.max) - left + 1, height = bound(ys, Math.max) - top + 1;
  const scale = 20 / Math.max(width, height);
  const paint = (dx, dy) => {
    const small = Object.assign(document.createElement("canvas"), {width: 28, height: 28});
    const brush = small.getContext("2d");
    brush.fillStyle = "#fff";
    brush.fillRect(0, 0, 28, 28);
    brush.imageSmoothingQuality = "high";
    brush.drawImage(canvas, left, top, width, height, dx, dy, width * scale, height * scale);
    return ink(small, brush, 28);
  };
  const first = paint(4, 4);
  let total = 0, x = 0, y = 0;
  first.forEach((value, i) => {
    total += value;
    x += value * (i % 28 + 0.5);
    y += value * (Math.floor(i / 28) + 0.5);
  });
  return paint(4 + 14 - x / total, 4 + 14 - y / total);
}
function ink(element, brush, size) {
  const data = brush.getImageData(0, 0, size, size).data;
  return Float32Array.from({length: size * size}, (_, i) => 1 - data[4 * i] / 255);
}
function read() {
  let x = pixels();
  if (!x) return;
  for (let k = 0; k < weights.length; k += 2) {
    const [w, b] = [weights[k], weights[k + 1]], columns = w.shape[1];
    const y = Float32Array.from(b.values);
    w.values.forEach((value, i) => { y[i % columns] += x[Math.floor(i / columns)] * value; });
    x = k + 2 < weights.length ? y.map(Math.tanh) : y;
  }
  const most = Math.max(...x), powers = x.map((v) => Math.exp(v - most));
  const sum = powers.reduce((a, b) => a + b);
  powers.forEach((power, digit) => {
    meters[digit].value = power / sum;
    meters[digit].title = (power / sum).toFixed(3);
    meters[digit].parentElement.style.fontWeight = x[digit] === most ? "bold" : "";
  });
}
clear();
if (image) {
  const small = Object.assign(document.createElement("canvas"), {width: 28, height: 28});
  const grey = Uint8ClampedArray.from(atob(image), (c) => 255 - c.charCodeAt(0));
  const colours = new ImageData(28, 28);
  colours.data.forEach((_, i) => { colours.data[i] = i % 4 < 3 ? grey[i >> 2] : 255; });
  small.getContext("2d").putImageData(colours, 0, 0);
  pen.imageSmoothingQuality = "high";
  pen.drawImage(small, 0, 0, 196, 196);
  hint.textContent = yours;
  read();
}
// In a frame of a page, the frame is as high as its content.
const fit = () => { frameElement.style.height = `${document.body.scrollHeight + 20}px`; };
if (window.frameElement) { onresize = fit; fit(); }
</script></body></html>
"""


class Page(str):
    """The text of an HTML page, which a notebook shows in a frame.

    Examples:
        >>> Page("<p>")._repr_html_()
        '<iframe width="100%" height="320" srcdoc="&lt;p&gt;"></iframe>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe width="100%" height="320" srcdoc="{escape(self)}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which a browser opens.

        Args:
            path: The file, which should end in ".html".

        Raises:
            OSError: The file cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self.encode())


def digit_pad(weights: Sequence[npt.ArrayLike], image: npt.ArrayLike | None = None) -> Page:
    """Return an HTML page on which one draws a digit, and a network gives its probabilities.

    The page needs neither Python nor a network connection. It moves and scales the drawing as
    MNIST's digits were.

    Args:
        weights: The matrix of shape (inputs, outputs) and the bias of each dense layer, from 784
            pixels between 0 and 1 to ten scores, with tanh between the layers.
        image: A digit that is there, and is read, until one draws: 28 × 28 pixels from 0 (paper) to
            255 (ink). By default the page is empty.

    Returns:
        The page. It has each array rounded to 8 bits.

    Raises:
        ValueError: The weights are not those of such a network, or the image has another shape.

    Examples:
        >>> import numpy as np
        >>> from minispore import drawing
        >>> drawing.digit_pad([np.zeros((784, 10)), np.zeros(10)])[:15]
        '<!doctype html>'
    """
    arrays = [np.asarray(weight, np.float64) for weight in weights]
    shapes = [array.shape for array in arrays]
    sizes = [784, *(shape[-1] for shape in shapes[1::2] if shape)]
    expected = [shape for n, m in pairwise(sizes) for shape in ((n, m), (m,))]
    if shapes != expected or sizes[-1] != 10 or len(sizes) == 1:
        raise ValueError(
            "For 'digit_pad', the argument 'weights' must have the shapes (784, n), (n,), …, "
            f"(m, 10), (10,), but got {', '.join(map(str, shapes)) or 'none'}."
        )
    drawn = None if image is None else np.asarray(image)
    if drawn is not None and drawn.shape != (28, 28):
        raise ValueError(
            "For 'digit_pad', the argument 'image' must have the shape (28, 28), "
            f"but it has {drawn.shape}."
        )
    shown = drawn is not None and base64.b64encode(drawn.astype(np.uint8).tobytes()).decode()
    data = {"IMAGE": shown or None, "LAYERS": [_rounded(array) for array in arrays]}
    return Page(re.sub("IMAGE|LAYERS", lambda match: json.dumps(data[match[0]]), _PAGE))


def _rounded(array: npt.NDArray[np.float64]) -> dict[str, object]:
    scale = float(np.abs(array).max()) / 127 or 1.0
    data = np.round(array / scale).astype(np.int8).tobytes()
    return {"data": base64.b64encode(data).decode(), "scale": scale, "shape": array.shape}
