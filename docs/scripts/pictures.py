"""The drawings of the figures with frames, by their names: `FIGURES`.

A function returns a drawing for each frame. What it draws is computed when the site is built, by
minispore or by the programs of a page.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings, strategies

from minispore import Tensor, grad, ops
from minispore.dataset import digits
from minispore.drawing import _svg as svg
from minispore.drawing import draw_broadcast, draw_graph
from minispore.drawing._images import _ink
from minispore.train import EarlyStopping, RunContext

DOCS = Path(__file__).parents[1]
PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
Floats = npt.NDArray[np.floating]
Point = tuple[float, float]
SIZE = 12.0


def programs(page: str, *parts: str, **given: object) -> dict[str, object]:
    """Run the programs of a page that contain one of some texts, and return their names.

    Args:
        page: The file of the page.
        *parts: A text of each program.
        **given: The names that other programs of the page define.

    Raises:
        StopIteration: No program of the page contains a text.
    """
    found = PROGRAM.findall((DOCS / page).read_text("utf-8"))
    wanted = {next(i for i, text in enumerate(found) if part in text) for part in parts}
    names: dict[str, object] = {"__name__": "__main__", **given}
    with redirect_stdout(StringIO()):
        for i in sorted(wanted):
            exec(compile(found[i], f"<{page}, program {i + 1}>", "exec"), names)  # noqa: S102
    return names


class Plot:
    """A box with axes from `low` to `high`, in which lines and dots are drawn.

    Args:
        low: The values at the left and at the bottom.
        high: The values at the right and at the top.
        size: The width and the height.
        place: The place of the left upper corner.
    """

    def __init__(self, low: Point, high: Point, size: Point, place: Point = (0, 0)) -> None:
        self._low, self._high, self._size, self._place = low, high, size, place
        (x, y), (width, height) = place, size
        frame = f"M{x:g} {y:g}v{height:g}h{width:g}"
        self.parts = [svg.tag("path", d=frame, fill="none", stroke=svg.PLAIN, stroke_opacity=0.5)]

    def at(self, x: float, y: float) -> Point:
        """Return the place of a point."""
        across, up = (
            (value - low) / (high - low) * size
            for value, low, high, size in zip(
                (x, y), self._low, self._high, self._size, strict=True
            )
        )
        return self._place[0] + across, self._place[1] + self._size[1] - up

    def line(
        self, points: Iterable[Point], kind: str = "", width: float = 1.5, **more: object
    ) -> None:
        """Draw a line, without the points that are outside of the box."""
        path, command = "", "M"
        (left, top), (wide, high) = self._place, self._size
        for point in points:
            x, y = self.at(*point)
            inside = left - 1 <= x <= left + wide + 1 and top - 1 <= y <= top + high + 1
            path += f"{command}{x:.1f} {y:.1f}{'h0' * (command == 'M')}" if inside else ""
            command = "L" if inside else "M"
        colours = svg.colour_attributes(kind, "stroke")
        self.parts.append(
            svg.tag("path", d=path or "M0 0", fill="none", stroke_width=width, **colours, **more)
        )

    def dots(self, points: Iterable[Point], kind: str = "", width: float = 8) -> None:
        """Draw dots, without those that are outside of the box."""
        self.line(
            (point for each in points for point in (each, (math.inf, 0))),
            kind, width, stroke_linecap="round",
        )  # fmt: skip

    def write(self, x: float, y: float, text: str, kind: str = "", **more: object) -> None:
        """Write a text at a point."""
        across, down = self.at(x, y)
        self.parts.append(svg.write(across, down, text, SIZE, kind, **more))


def text(x: float, y: float, content: str, kind: str = "", **more: object) -> str:
    """Return a text that begins at x."""
    return svg.write(x, y, content, SIZE, kind, **{"text_anchor": "start", **more})


def box(
    x: float, y: float, width: float, height: float, kind: str = "", *, strong: bool = False
) -> str:
    """Return a box, filled if it is strong."""
    colours = svg.colour_attributes(kind, "stroke", "fill")
    return svg.tag(
        "rect",
        x=x,
        y=y,
        width=width,
        height=height,
        fill_opacity="0.35" if strong else "0.08",
        **colours,
    )


# Lesson 0.


class Node(Protocol):
    """A node of the page's framework."""

    value: Floats


def network() -> list[str]:
    """The network of the first page reads one image: its layers, one more in each frame."""
    names = programs("learn/00-thirty-lines.md", "digits.generate(4000)", "class Node", "fit(\n")
    weights = [node.value for node in cast("list[Node]", names["weights"])]
    images, labels = digits.generate(8, usage="test")
    image, label = images[3], int(labels[3])
    pixels = image.reshape(1, 784) / 255
    hidden = np.tanh(pixels @ weights[0] + weights[1])
    scores = (hidden @ weights[2] + weights[3])[0]
    powers = np.exp(scores - scores.max())
    chances = powers / powers.sum()
    loss = -math.log(chances[label])

    ink = svg.tag(
        "g", *_ink((image * (6 / 256)).astype(np.uint8)), transform="translate(0 28) scale(3)"
    )
    first = [ink, text(0, 16, f"image {pixels.shape}")]
    first.append(text(0, 180, f"28 × 28 = {pixels.size} numbers, from 0 (paper) to 1 (ink)"))
    second = [text(92, 76, "→", font_size=24), text(120, 16, f"hidden {hidden.shape}")]
    second.append(text(0, 198, shapes(weights[0], weights[1]), "parameter"))
    for i, value in enumerate(hidden[0].tolist()):
        second.append(cell(136 + 14 * (i % 4), 28 + 14 * (i // 4), value))
    third = [text(202, 76, "→", font_size=24), text(236, 16, f"scores {scores[None].shape}")]
    third.append(text(0, 216, shapes(weights[2], weights[3]), "parameter"))
    for digit, score in enumerate(scores.tolist()):
        third.append(text(236, 39 + 12.5 * digit, f"{digit} {score:6.1f}", style="white-space:pre"))
    fourth = [text(348, 16, "probabilities")]
    for digit, chance in enumerate(chances.tolist()):
        y, kind = 29 + 12.5 * digit, "input" if digit == label else ""
        fourth.append(box(330, y, 2 + 60 * chance, 10, kind, strong=True))
        fourth.append(text(400, y + 10, f"{chance:.3f}", kind))
    words = f"label {label}: loss = −log {chances[label]:.3f} = {loss:.3f}"
    fifth = [text(0, 234, words, "gradient")]
    layers = [first, second, third, fourth, fifth]
    title = f"A network with {sum(w.size for w in weights):,} weights reads a {label}"
    return [
        svg.picture(444, 240, title, "", [part for made in layers[: i + 1] for part in made])
        for i in range(len(layers))
    ]


def cell(x: float, y: float, value: float) -> str:
    """Return a square for a number from −1 to 1: the stronger, the further from 0."""
    kind = "input" if value > 0 else "gradient"
    colours = svg.colour_attributes(kind, "fill")
    return svg.tag(
        "rect", x=x, y=y, width=12, height=12, fill_opacity=f"{abs(value):.2f}",
        stroke=svg.PLAIN, stroke_opacity=0.4, **colours,
    )  # fmt: skip


def shapes(weight: Floats, bias: Floats) -> str:
    """Return the sizes of a layer, and the shapes of its weights."""
    rows, columns = weight.shape
    return f"{rows} → {columns}: w {weight.shape}, b {bias.shape}"


# Lessons 1 and 3.


def backward() -> list[str]:
    """The backward pass of lesson 1, one value more in each frame."""

    def y(x: Tensor) -> Tensor:
        s = 2 * x
        return s + 3 * s

    return [draw_graph(y, Tensor(1.0), visited=visited) for visited in range(5)]


def broadcasting() -> list[str]:
    """Operands of a result of shape (2, 3), each repeated in another way."""
    whole = np.arange(1, 7).reshape(2, 3)
    others = [10 * whole, np.array([10, 20, 30]), np.array([[10], [20]]), np.array(10)]
    return [draw_broadcast(whole, other) for other in others]


# Lessons 4 and 5.


def differences() -> list[str]:
    """The central difference of tanh at 0.4 for smaller and smaller steps, and its error."""
    steps = [1.0, 0.5, 0.1, 1e-3, 1e-5, 1e-8, 1e-11]
    x = 0.4
    slope = 1 - math.tanh(x) ** 2
    grid = np.linspace(-1.2, 2.0, 60).tolist()

    def estimate(h: float) -> float:
        return (math.tanh(x + h) - math.tanh(x - h)) / (2 * h)

    def point(h: float) -> Point:
        return math.log10(h), math.log10(max(abs(estimate(h) - slope), 1e-14))

    def frame(h: float) -> str:
        left = Plot((-1.2, -1.0), (2.0, 1.4), (200, 170))
        right = Plot((-12, -14), (0.5, 0), (170, 170), (250, 0))
        left.line((t, math.tanh(t)) for t in grid)
        left.line(((t, math.tanh(x) + slope * (t - x)) for t in grid), "input")
        middle = (math.tanh(x + h) + math.tanh(x - h)) / 2
        left.line(((t, middle + estimate(h) * (t - x)) for t in grid), "gradient")
        for t in (x - h, x + h):
            left.dots([(t, math.tanh(t))], "gradient")
        right.line([point(10**-e) for e in np.linspace(0, 12, 49).tolist()], width=0.7)
        right.dots([point(h)], "gradient", 10)
        parts = [
            *left.parts, *right.parts,
            text(0, 190, "tanh"), text(40, 190, "its tangent", "input"),
            text(250, 190, "error over step, both log"),
            text(0, 208, f"h = {h:g}: slope {estimate(h):.11f}", "gradient"),
            text(0, 226, f"derivative {slope:.11f}, error {abs(estimate(h) - slope):.0e}", "input"),
        ]  # fmt: skip
        return svg.picture(425, 230, f"The central difference with h = {h:g}", "", parts)

    return [frame(h) for h in steps]


def newton() -> list[str]:
    """Newton's method of lesson 5: the parabola at each point, and the next point."""
    names = programs("learn/05-higher.md", "def plain_rule")
    plain = cast("Callable[[Tensor], Tensor]", names["plain_softplus"])

    def frames(softplus: Callable[[Tensor], Tensor], name: str, count: int) -> list[str]:
        def f(x: Tensor) -> Tensor:
            return softplus(x) - 0.8 * x + 0.05 * x * x

        first, second = grad(f), grad(grad(f))
        x, made = 0.0, list[str]()
        for _ in range(count):
            at = Tensor(np.array(x))
            value, slope, curvature = (fn(at).item() for fn in (f, first, second))
            plot = Plot((-3.0, 0.0), (7.0, 3.0), (330, 200))
            grid = np.linspace(-3, 7, 80).tolist()
            plot.line((t, f(Tensor(np.array(t))).item()) for t in grid)
            plot.line(
                ((t, value + slope * (t - x) + curvature / 2 * (t - x) ** 2) for t in grid),
                "gradient",
            )
            plot.dots([(x, value)], "input", 10)
            following = x - slope / curvature
            plot.dots([(following, value - slope**2 / curvature / 2)], "gradient")
            words = f"x = {x:.3f} → {following:.3f}, second derivative {curvature:.3f}"
            parts = [*plot.parts, text(0, 220, name), text(0, 238, words, "gradient")]
            made.append(svg.picture(350, 240, f"A step of Newton's method, {name}", "", parts))
            x = following
        return made

    return [*frames(ops.softplus, "ops.softplus", 3), *frames(plain, "plain_softplus", 3)]


# Lesson 7.


def descent(rate: float, momentum: float) -> tuple[str, int]:
    """Return the drawing of gradient descent on ½(a² + 50b²), and the number of its steps."""
    curvatures = np.array([1.0, 50.0])
    point, v = np.ones(2), np.zeros(2)
    points = [(1.0, 1.0)]
    while 0.01 < abs(point).max() < 1000:
        v = momentum * v + curvatures * point
        point = point - rate * v
        points.append((float(point[0]), float(point[1])))
    plot = Plot((-1.15, -1.15), (1.15, 1.15), (330, 230))
    for level in (0.1, 1.0, 4.0, 10.0, 20.0):
        widest = math.sqrt(2 * level)
        across = np.linspace(-1, 1, 15) * min(widest, 1.15)
        for sign in (1, -1):
            up = sign * np.sqrt((widest**2 - across**2) / 50)
            line = zip(across.tolist(), up.tolist(), strict=True)
            plot.line(line, width=0.8, stroke_opacity="0.4")
    plot.line(points[:40], "gradient", 1.3)
    plot.dots(points[:40], "gradient", 4)
    plot.dots([(1.0, 1.0)], "input", 10)
    plot.dots([(0.0, 0.0)], "parameter", 10)
    plot.write(0.97, 1.03, "start", "input", text_anchor="end")
    plot.write(0, -0.2, "minimum", "parameter")
    count = len(points) - 1
    ends = f"{count} steps" if abs(point).max() < 1 else "it diverges"
    words = f"rate {rate:g}, momentum {momentum:g}: {ends}"
    parts = [*plot.parts, text(0, 250, words, "gradient"), text(306, 246, "a"), text(4, 12, "b")]
    title = f"Gradient descent on contour lines of the loss: {words}"
    return svg.picture(330, 256, title, "", parts), count


def rates() -> list[str]:
    """Gradient descent with larger and larger rates."""
    return [descent(rate, 0.0)[0] for rate in (0.005, 0.015, 0.02, 0.03, 0.039, 0.041)]


def momentum() -> list[str]:
    """Gradient descent with more and more momentum."""
    return [descent(0.036, mu)[0] for mu in (0.0, 0.3, 0.6, 0.8, 0.9)]


# Lesson 8.


def loop() -> list[str]:
    """The loop of lesson 8: the line at each event, and the events so far."""
    import inspect

    source = next(
        found
        for found in PROGRAM.findall((DOCS / "learn/08-loop.md").read_text("utf-8"))
        if "def emit(" in found
    )
    lines = source[source.index("def fit(") :].splitlines()
    seen = list[tuple[int, str]]()

    class Record:
        """Notes the line of `fit` from which a hook is called."""

        def __getattr__(self, event: str) -> Callable[[object], None]:
            def hook(state: object) -> None:
                frame = inspect.currentframe()
                emit = frame and frame.f_back
                fit = emit and emit.f_back
                assert fit
                epoch, step = (vars(state).get(key) for key in ("epoch", "step"))
                place = f" {epoch}" if "epoch" in event else f" {step}" if "step" in event else ""
                seen.append((fit.f_lineno - fit.f_code.co_firstlineno, event + place))

            return hook

    class NoNetwork:
        """What the loop calls for a step."""

        def __call__(self, *_: object) -> float:
            seen.append((6, "the network"))
            return 0.0

    names: dict[str, object] = {"new_step": lambda _: NoNetwork()}
    exec(compile(source, "<lesson 8>", "exec"), names)  # noqa: S102
    cast("Callable[..., None]", names["fit"])(None, [(), ()], 1, [Record()])

    def frame(count: int) -> str:
        current = seen[count - 1][0]
        parts = list[str]()
        for i, line in enumerate(lines):
            if i == current:
                parts.append(box(-4, 16 * i, 420, 16, "gradient"))
            indent = 7.3 * (len(line) - len(line.lstrip()))
            parts.append(text(indent, 16 * i + 12, line.strip()))
        for i, (_, event) in enumerate(seen[:count]):
            depth = 0 if event.startswith(("on_train_begin", "on_train_end")) else 1
            depth += event.startswith(("on_train_step", "the network"))
            kind = "gradient" if i == count - 1 else ""
            parts.append(text(20 * depth, 230 + 16 * i, event, kind))
        return svg.picture(
            416, 226 + 16 * len(seen), f"Event {count}: {seen[count - 1][1]}", "", parts
        )

    return [frame(count) for count in range(1, len(seen) + 1)]


# Lesson 10.


def patience() -> list[str]:
    """EarlyStopping with patience 3: the losses so far, the best one, and how long it waits."""
    losses = [0.9, 0.6, 0.65, 0.5, 0.55, 0.52, 0.58]
    stopping, context = EarlyStopping("loss", patience=3, mode="min"), RunContext({})
    stopping.on_train_begin(context)
    made = list[str]()
    for epoch, loss in enumerate(losses, 1):
        context.original_args().update(cur_epoch_num=epoch, net_outputs=loss, loss=loss)
        stopping.on_train_epoch_end(context)
        plot = Plot((0.5, 0.4), (7.5, 1.0), (300, 150))
        best = stopping.best
        plot.line([(0.5, best), (7.5, best)], "input", stroke_dasharray="4 3")
        plot.line(list(enumerate(losses[:epoch], 1)), width=1)
        for number, value in enumerate(losses[:epoch], 1):
            plot.dots([(number, value)], "input" if value == best else "")
        parts = [*plot.parts, text(0, 172, f"epoch {epoch}, loss {loss:g}, best {best:g}")]
        parts.append(text(0, 194, "wait"))
        parts += [
            box(44 + 24 * i, 182, 16, 16, "gradient", strong=i < stopping.wait) for i in range(3)
        ]
        if context.get_stop_requested():
            parts.append(text(130, 194, "request_stop()", "gradient"))
        made.append(svg.picture(300, 200, f"Early stopping after epoch {epoch}", "", parts))
    return made


# Lesson 13.


def truncated() -> list[str]:
    """A text and a stream of records, each cut at another byte, and what is read from them."""
    names = programs("learn/13-bytes.md", 'lines = "".join', "from io import BytesIO", "def read(")
    lines, stream = cast("str", names["lines"]), cast("bytes", names["stream"])
    read = cast("Callable[[bytes], tuple[list[float], str]]", names["read"])

    def frame(missing: int) -> str:
        cut, kept = lines[: len(lines) - missing], len(stream) - missing
        parts = [text(0, 12, "a text, one loss in each line")]
        parts += letters(lines.replace("\n", "↵"), "t" * len(lines), len(cut), 20)
        parts.append(text(0, 58, f"read: {[float(line) for line in cut.split()]}", "gradient"))
        parts.append(text(0, 96, "records: length, data, and their checksums"))
        start = 0
        for row, line in enumerate(lines.split()):
            kinds = "l" * 8 + "s" * 4 + "t" * len(line) + "s" * 4
            shown = kinds[:12] + line + kinds[-4:]
            parts += letters(shown, kinds, kept - start, 104 + 24 * row)
            start += len(shown)
        losses, state = read(stream[:kept])
        state = "complete" if state == "complete" else "WireError: bytes are missing"
        parts.append(text(0, 194, f"read: {losses}, {state}", "gradient"))
        return svg.picture(360, 200, f"The last {missing} bytes are missing", "", parts)

    return [frame(missing) for missing in (0, 1, 2, 3, 4, 5, 6)]


def letters(shown: str, kinds: str, kept: int, y: float) -> list[str]:
    """Return a row of bytes, filled by their kinds; those that were not kept are empty."""
    colours = {"l": "parameter", "t": "input", "s": ""}
    parts = list[str]()
    for kind, colour in (*colours.items(), ("", "")):
        at = [
            i
            for i, each in enumerate(kinds)
            if (i < kept and each == kind) or (i >= kept and not kind)
        ]
        if at:
            path = "".join(f"M{16 * i} {y}h14v20h-14z" for i in at)
            paint = svg.colour_attributes(colour, "fill", "stroke")
            opacity = 0.3 if kind else 0.0
            parts.append(svg.tag("path", d=path, fill_opacity=opacity, stroke_opacity=0.6, **paint))
            places = " ".join(str(16 * i + 4) for i in at)
            word = "".join(shown[i] for i in at)
            faint = None if kind else 0.4
            parts.append(
                svg.tag(
                    "text",
                    word,
                    x=places,
                    y=y + 14,
                    font_size=11,
                    fill=svg.PLAIN,
                    fill_opacity=faint,
                )
            )
    return parts


# Lesson 14, and the laws.


def shrinking() -> list[str]:
    """The failing lists of lesson 14, from the first to the simplest."""
    names = programs(
        "learn/14-properties.md", "def never_rises", given=given, settings=settings, st=strategies
    )
    failing = cast("list[list[int]]", names["failing"])
    last = len(failing) - 1
    chosen = sorted({round(i * last / 7) for i in range(8)})
    wide = max(len(failing[i]) for i in chosen)

    def frame(i: int) -> str:
        losses = failing[i]
        rising = next(
            j for j in range(len(losses) - 3) if sorted(set(losses[j : j + 4])) == losses[j : j + 4]
        )
        parts = [text(0, 12, f"failing list {i + 1} of {last + 1}: {len(losses)} numbers")]
        for j, loss in enumerate(losses):
            kind = "gradient" if rising <= j < rising + 4 else ""
            parts.append(box(24 * j, 124 - loss, 20, loss + 1, kind, strong=True))
            parts.append(svg.write(24 * j + 10, 140, str(loss), SIZE, kind))
        return svg.picture(max(24 * wide, 300), 146, f"Failing list {i + 1}", str(losses), parts)

    return [frame(i) for i in chosen]


# Lesson 16.


class Entry(Protocol):
    """The attributes of an entry of the tape that are drawn."""

    @property
    def function(self) -> Callable[..., object]:
        """The function that is called."""
        ...


class Placement(Protocol):
    """The places of the buffers."""

    size: int
    offsets: dict[int, int]


class Tape(Protocol):
    """The tape of lesson 16."""

    entries: list[Entry]


def arena() -> list[str]:
    """The memory of lesson 16 at some of the entries of the tape."""
    names = programs("learn/16-compiler.md", "def train_step", "placement = place(", np=np)
    entries = cast("Tape", names["tape"]).entries
    placement, sizes = cast("Placement", names["placement"]), cast("dict[int, int]", names["sizes"])
    first, last = (cast("dict[int, int]", names[name]) for name in ("first", "last"))
    scale = 380 / placement.size

    def frame(now: int) -> str:
        name = getattr(entries[now].function, "__name__", "")
        parts = [text(0, 12, f"entry {now}: {name}"), box(0, 24, 380, 40)]
        used = 0
        for buffer, offset in placement.offsets.items():
            if first[buffer] <= now <= last[buffer]:
                used += sizes[buffer]
                kind = "gradient" if first[buffer] == now else "input"
                width = sizes[buffer] * scale
                parts.append(box(offset * scale, 24, width, 40, kind, strong=True))
                middle = offset * scale + width / 2
                parts.append(svg.write(middle, 48, str(buffer), SIZE))
        total = sum(size for buffer, size in sizes.items() if first[buffer] <= now)
        parts.append(text(0, 84, f"live: {used} bytes, written so far: {total} bytes"))
        parts.append(text(0, 102, f"arena: {placement.size} bytes"))
        return svg.picture(384, 108, f"The arena at entry {now}", "", parts)

    return [frame(now) for now in (0, 1, 2, 3, 4, 6, 9, len(entries) - 1)]


# Lesson 17.


def ring() -> list[str]:
    """Whose numbers each part has, after each round of the ring all-reduce of lesson 17."""
    names = programs("learn/17-processes.md", "def ring_all_reduce", np=np)
    sent = cast("list[tuple[int, int, int]]", names["sent"])
    size = 1 + max(rank for _, rank, _ in sent)
    parts = [[{rank} for _ in range(size)] for rank in range(size)]
    made = [ring_frame(0, parts, [])]
    for number, messages in groupby(sent, key=lambda message: message[0]):
        arrived = [((rank + 1) % size, part) for _, rank, part in messages]
        received = [set(parts[rank - 1][part]) for rank, part in arrived]
        for (rank, part), ranks in zip(arrived, received, strict=True):
            parts[rank][part] = ranks | (parts[rank][part] if number < size - 1 else set())
        made.append(ring_frame(number + 1, parts, arrived))
    return made


def ring_frame(
    number: int, parts: Sequence[Sequence[set[int]]], arrived: Sequence[tuple[int, int]]
) -> str:
    """Return the drawing of the parts after a round; those that have just arrived are marked."""
    size = len(parts)
    drawn = [text(110 + 70 * part, 12, f"part {part}") for part in range(size)]
    for rank, row in enumerate(parts):
        drawn.append(text(0, 44 + 44 * rank, f"process {rank}"))
        for part, ranks in enumerate(row):
            x, y = 100 + 70 * part, 24 + 44 * rank
            kind = "gradient" if (rank, part) in arrived else "input" if len(ranks) == size else ""
            drawn.append(box(x, y, 62, 30, kind, strong=len(ranks) == size))
            drawn.append(svg.write(x + 31, y + 20, "+".join(map(str, sorted(ranks))), 11))
    return svg.picture(376, 200, f"After round {number}", "", drawn)


FIGURES: dict[str, Callable[[], list[str]]] = {
    fn.__name__: fn
    for fn in (
        network, backward, broadcasting, differences, newton, rates, momentum, loop, patience,
        truncated, shrinking, arena, ring,
    )
}  # fmt: skip
