"""Saving the parameters that a loss landscape is made of, while they come about."""

import os
from typing import Final

from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train.callback._summary_options import LandscapeOptions
from minispore.train.serialization import save_checkpoint

FOLDER: Final = "ckpt_dir"
METADATA: Final = "train_metadata.json"


class LandscapeSaver:
    """Saves a network's parameters after the steps or epochs that a landscape's way goes through.

    Attributes:
        files: The checkpoints of this run by step or epoch.

    Args:
        folder: Gets the folder `ckpt_dir` with the checkpoints and `train_metadata.json`.
        options: Which, and what the landscape will be like.
    """

    def __init__(self, folder: str, options: LandscapeOptions) -> None:
        self._folder = os.path.join(folder, FOLDER)
        self._options = options
        self._intervals: list[list[int]] = []
        self.files: dict[str, str] = {}

    def begin(self, params: InternalCallbackParam) -> None:
        """Decide what will be saved."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self.files = {}
        if self._options.intervals is not None:
            self._intervals = self._options.intervals
        elif self._options.unit == "epoch":
            first = params.get("initial_epoch", 0)
            assert isinstance(first, int)
            self._intervals = [list(range(first + 1, first + params.epoch_num + 1))]
        else:
            self._intervals = [list(range(1, params.epoch_num * params.batch_num + 1))]

    def step_end(self, params: InternalCallbackParam) -> None:
        """Save if steps count and this is one of them."""
        if self._options.unit == "step":
            self._save(params, params.cur_step_num)

    def epoch_end(self, params: InternalCallbackParam) -> None:
        """Save if epochs count and this is one of them."""
        if self._options.unit == "epoch":
            self._save(params, params.cur_epoch_num)

    def end(self, params: InternalCallbackParam) -> None:
        """Write what `SummaryLandscape` has to know."""
        import json

        from minispore._atomic import replacing

        options = self._options
        metadata = {
            "epoch_group": {str(i): numbers for i, numbers in enumerate(self._intervals)},
            "model_params_file_map": self.files,
            "step_per_epoch": params.batch_num,
            "unit": options.unit,
            "num_samples": options.num_samples,
            "landscape_size": options.landscape_size,
            "create_landscape": {"train": options.train, "result": options.result},
        }
        with replacing(os.path.join(self._folder, METADATA)) as file:
            file.write(json.dumps(metadata).encode())

    def _save(self, params: InternalCallbackParam, number: int) -> None:
        if any(number in interval for interval in self._intervals):
            name = f"{type(params.network).__name__}_{number}_{self._options.unit}.ckpt"
            path = os.path.join(self._folder, name)
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # it may have been removed
            save_checkpoint(params.network, path)
            self.files[str(number)] = path
