"""The training on the front page that a reader kills and resumes.

The place is `<div class="kill"></div>`. The training and its resumption from each checkpoint are
real: their events, losses and final weights are recorded when the site is built, and
docs/assets/kill.js plays them. Without it the page shows one run that was killed, and the one that
was resumed.
"""

import json
import os
from collections.abc import Iterable
from contextlib import chdir
from functools import cache
from hashlib import sha256
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

import numpy as np
from languages import say

from minispore import nn, set_seed
from minispore.dataset import NumpySlicesDataset, digits
from minispore.testing import record_events
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext

PLACE = '<div class="kill"></div>'
EPOCHS, STEPS, EVERY = 2, 4, 2
# The step after which the process is killed that the page shows without the script.
EXAMPLE = 3
END = (
    "The end. All losses, and the weights (SHA-256 {digest} …), are those of a run that was never "
    "killed."
)
WORDS = (
    "Start", "Kill", "Resume", "Again", "Next event", "process {number}", "epoch {number}", "step",
    "The process is running. Kill it when you like.",
    "Killed: the process and all that it had in memory are gone.",
    "The checkpoint after step {step} is left.",
    "There is no checkpoint yet: a new process begins at step 1.",
    "A new process goes on after step {step}.",
    END,
)  # fmt: skip


class File(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: File


class Run(NamedTuple):
    """A recorded training.

    Attributes:
        events: The hook and the step of each event.
        losses: The loss of each step.
        digest: The SHA-256 of the final weights, in hexadecimal digits.
    """

    events: list[tuple[str, int]]
    losses: dict[int, float]
    digest: str


class Losses(Callback):
    """Keeps the loss of each step."""

    def __init__(self) -> None:
        self.losses = dict[int, float]()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Keep the loss."""
        params = run_context.original_args()
        self.losses[params.cur_step_num] = float(params.net_outputs)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put the training into its place (mkdocs calls this hook)."""
    return html.replace(PLACE, figure(page.file.src_uri)) if PLACE in html else html


@cache
def runs() -> dict[int, Run]:
    """Return the training by the step after which it begins: 0, and those of the checkpoints.

    Raises:
        ValueError: A resumed training differs from the one that was not interrupted.
    """
    with TemporaryDirectory() as folder, chdir(folder):
        recorded = {0: trained("files")}
        for step in range(EVERY, EPOCHS * STEPS + 1, EVERY):
            epoch, number = (step - 1) // STEPS + 1, (step - 1) % STEPS + 1
            file = os.path.join("files", f"net-{epoch}_{number}.ckpt")
            recorded[step] = trained(f"after {step}", file)
    _, losses, digest = recorded[0]
    for step, run in recorded.items():
        rest = {number: loss for number, loss in losses.items() if number > step}
        if (run.losses, run.digest) != (rest, digest):
            raise ValueError(f"The training that is resumed after step {step} differs.")
    return recorded


def trained(folder: str, resume: str | None = None) -> Run:
    """Train a network, which has checkpoints in a folder, and record it."""
    set_seed(1)
    images, labels = digits.generate(400)
    pixels = (images.reshape(-1, 784) / 255).astype(np.float32)
    data = NumpySlicesDataset((pixels, labels.astype(np.int32))).batch(len(pixels) // STEPS)
    network = nn.SequentialCell(nn.Dense(784, 32), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(32, 10))
    model = Model(network, nn.CrossEntropyLoss(), nn.Adam(network.trainable_params(), 0.01))
    config = CheckpointConfig(
        save_checkpoint_steps=EVERY, keep_checkpoint_max=9, append_info=["training_state"]
    )
    watch = Losses()
    with record_events() as trace:
        model.train(EPOCHS, data, [ModelCheckpoint("net", folder, config), watch], resume=resume)
    events = [(event.name, event.step or 0) for event in trace.of("") if event.name != "run"]
    weights = b"".join(p.asnumpy().tobytes() for p in network.trainable_params())
    return Run(events, watch.losses, sha256(weights).hexdigest())


def figure(page: str) -> str:
    """Return the HTML of the training, with its data for the script."""
    recorded = runs()
    losses = {step: f"{loss:.3f}" for step, loss in recorded[0].losses.items()}
    # The script fills in the values.
    values = {name: f"{{{name}}}" for name in ("number", "step", "digest")}
    data = {
        "events": {step: run.events for step, run in recorded.items()},
        "losses": losses,
        "every": EVERY,
        "digest": recorded[0].digest[:8],
        "words": {word: say(word, page, **values) for word in WORDS},
    }
    saved = EXAMPLE - EXAMPLE % EVERY
    kinds = ["saved" if step <= saved else "lost" for step in losses]
    first = [(losses[step], kinds[step - 1]) if step <= EXAMPLE else ("", "") for step in losses]
    second = [(losses[step], "saved") if step > saved else ("", "") for step in losses]
    rows = [row(number, cells, page) for number, cells in enumerate((first, second), 1)]
    columns = range(1, EPOCHS + 1)
    epochs = [
        f'<th scope="colgroup" colspan="{STEPS}">{say("epoch {number}", page, number=number)}</th>'
        for number in columns
    ]
    steps = [f'<th scope="col">{step}</th>' for step in losses]
    end = say(END, page, digest=recorded[0].digest[:8])
    return f"""<div class="kill">
<p class="run" hidden></p>
<div class="processes" tabindex="0" role="group" aria-label="{say("step", page)}">
<table class="runs"><thead>
<tr><td></td>{"".join(epochs)}</tr>
<tr><th scope="row">{say("step", page)}</th>{"".join(steps)}</tr>
</thead><tbody>{"".join(rows)}</tbody></table></div>
<p class="event"></p>
<p class="said" role="status">{end}</p>
<script type="application/json">{json.dumps(data, ensure_ascii=False)}</script>
</div>"""


def row(number: int, cells: Iterable[tuple[str, str]], page: str) -> str:
    """Return a process's row of the table: the loss of each step, and what became of it."""
    inside = "".join(f'<td class="{kind}">{text}</td>' for text, kind in cells)
    return f'<tr><th scope="row">{say("process {number}", page, number=number)}</th>{inside}</tr>'
