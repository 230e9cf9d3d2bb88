"""CheckpointConfig: when ModelCheckpoint saves, what it adds, and which files it keeps."""

from collections.abc import Sequence
from typing import cast

from minispore._checks import check_int, check_type
from minispore.nn.cell import Cell
from minispore.train._files.named_values import appended, check_storage

_OWNER = "CheckpointConfig"
_INFO = ("epoch_num", "step_num")
_TRAINING_STATE = "training_state"


class CheckpointConfig:
    """The policy of a `ModelCheckpoint`.

    Of the two ways to say when to save, steps win over seconds; of the two ways to say what to
    keep, the number wins over the minutes. With neither a number nor minutes one file is kept.

    Source: mindspore.train.CheckpointConfig.

    Args:
        save_checkpoint_steps: Save each time so many steps are done; 0 or None for not so.
        save_checkpoint_seconds: Save after a step when more than so many seconds have passed
            since the last time. If steps and seconds are 0 or None, nothing is ever saved.
        keep_checkpoint_max: How many of its files a ModelCheckpoint keeps: the newest.
        keep_checkpoint_per_n_minutes: Keep the first file and then one each n minutes; beside
            these there is always the newest. Needs `keep_checkpoint_max` 0 or None.
        integrated_save: Only for a network split over devices; has no effect.
        async_save: Whether files are written in the background: True, "thread" or "process" (which
            is a thread, too). What goes wrong is raised at the next saving, or at the run's end.
        saved_network: What to save; by default the network that is trained, with the state of
            its optimiser.
        append_info: What to save with it: "epoch_num", "step_num" (the current ones), at most
            one dict of values by name: int, float, bool, str, Parameter or Tensor; and
            "training_state" (minispore's own), with which the training can be resumed from the
            file exactly. It cannot be had with a `saved_network`.
        enc_key: Must be None: encryption is not supported.
        enc_mode: Without a key it has no effect.
        exception_save: Whether to save when an exception ends the training, an interrupt by the
            user included; that file's name ends with `_breakpoint`. It has no training state: an
            exception may come in the middle of a step.
        crc_check: Whether files end with a check sum.
        remove_redundancy: Only for a run of several processes; has no effect.
        format: "ckpt" or "safetensors".
        **kwargs: None are known.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: A number is negative; steps, seconds, number and minutes are all 0 or None;
            an unknown `format` or name in `append_info`; a training state is asked for of another
            network than the one that is trained.
        NotImplementedError: Encryption is asked for.

    Examples:
        >>> config = CheckpointConfig(save_checkpoint_steps=100, append_info=["epoch_num"])
        >>> config.save_checkpoint_steps, config.keep_checkpoint_max, config.append_dict
        (100, 5, {'epoch_num': 0})
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: Sequence[str | dict[str, object]] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
        **kwargs: object,
    ) -> None:
        if kwargs:
            raise TypeError(f"For '{_OWNER}', there is no argument {', '.join(map(repr, kwargs))}.")
        numbers = {
            "save_checkpoint_steps": save_checkpoint_steps,
            "save_checkpoint_seconds": save_checkpoint_seconds,
            "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes,
        }
        for name, number in numbers.items():
            if number is not None:
                check_int(number, name, _OWNER, low=0)
        if not any(numbers.values()):
            raise ValueError(
                f"For '{_OWNER}', the arguments {', '.join(map(repr, numbers))} must not all be "
                "0 or None."
            )
        check_type(integrated_save, bool, "integrated_save", _OWNER)
        check_type(saved_network, Cell, "saved_network", _OWNER, none=True)
        check_type(exception_save, bool, "exception_save", _OWNER)
        check_type(remove_redundancy, bool, "remove_redundancy", _OWNER)
        check_storage(_OWNER, async_save, enc_key, enc_mode, crc_check, format)
        # None stands for a way that is switched off by the other one.
        self._save_steps = save_checkpoint_steps
        self._save_seconds = None if save_checkpoint_steps else save_checkpoint_seconds
        self._keep_minutes = None if keep_checkpoint_max else keep_checkpoint_per_n_minutes
        self._keep_max = keep_checkpoint_max if keep_checkpoint_max or self._keep_minutes else 1
        self._saved_network = saved_network
        self._append_dict = _append_dict(append_info)
        self._training_state = append_info is not None and _TRAINING_STATE in append_info
        if self._training_state and saved_network is not None:
            raise ValueError(
                f"For '{_OWNER}', 'training_state' in 'append_info' is that of the network that is "
                "trained: 'saved_network' must be None."
            )
        self._integrated_save = integrated_save
        self._async_save = async_save
        self._remove_redundancy = remove_redundancy
        self._exception_save = exception_save
        self._crc_check = crc_check
        self._format = format
        self._enc_mode = enc_mode

    @property
    def save_checkpoint_steps(self) -> int | None:
        """Steps from one saving to the next."""
        return self._save_steps

    @property
    def save_checkpoint_seconds(self) -> int | None:
        """Seconds from one saving to the next; None where steps are counted."""
        return self._save_seconds

    @property
    def keep_checkpoint_max(self) -> int | None:
        """How many files are kept."""
        return self._keep_max

    @property
    def keep_checkpoint_per_n_minutes(self) -> int | None:
        """Minutes from one kept file to the next; None where files are counted."""
        return self._keep_minutes

    @property
    def integrated_save(self) -> bool:
        """As given."""
        return self._integrated_save

    @property
    def async_save(self) -> bool | str:
        """Whether files are written in the background, as given."""
        return self._async_save

    @property
    def saved_network(self) -> Cell | None:
        """What is saved; None for the network that is trained."""
        return self._saved_network

    @property
    def append_dict(self) -> dict[str, object] | None:
        """What is saved beside the network; the numbers of epoch and step are still 0."""
        return self._append_dict

    @property
    def training_state(self) -> bool:
        """Whether the training can be resumed from the files."""
        return self._training_state

    @property
    def remove_redundancy(self) -> bool:
        """As given."""
        return self._remove_redundancy

    @property
    def enc_key(self) -> None:
        """Always None."""

    @property
    def enc_mode(self) -> str:
        """As given."""
        return self._enc_mode

    @property
    def exception_save(self) -> bool:
        """Whether an exception leaves a file."""
        return self._exception_save

    @property
    def crc_check(self) -> bool:
        """Whether files have a check sum."""
        return self._crc_check

    @property
    def format(self) -> str:
        """The files' format, which is their ending."""
        return self._format

    def get_checkpoint_policy(self) -> dict[str, object]:
        """The policy as a dict of the arguments that make it, and `saved_network`."""
        return {
            "save_checkpoint_steps": self.save_checkpoint_steps,
            "save_checkpoint_seconds": self.save_checkpoint_seconds,
            "keep_checkpoint_max": self.keep_checkpoint_max,
            "keep_checkpoint_per_n_minutes": self.keep_checkpoint_per_n_minutes,
            "saved_network": self.saved_network,
        }


def _append_dict(append_info: object) -> dict[str, object] | None:
    """The list as one dict, in which the current numbers have yet to be filled in."""
    check_type(append_info, list, "append_info", _OWNER, none=True)
    if not append_info:
        return None
    found: dict[str, object] = {}
    dicts = 0
    for item in cast("list[object]", append_info):
        if isinstance(item, dict):
            values = cast("dict[str, object]", item)
            appended(values, _OWNER)
            dicts += 1
            found |= values
        elif isinstance(item, str) and item in _INFO:
            found.setdefault(item, 0)
        elif item != _TRAINING_STATE:
            raise (ValueError if isinstance(item, str) else TypeError)(
                f"For '{_OWNER}', an element of 'append_info' must be 'epoch_num', 'step_num', "
                f"'training_state' or a dict, but got {item!r}."
            )
    if dicts > 1:
        raise TypeError(f"For '{_OWNER}', 'append_info' must hold at most one dict, got {dicts}.")
    return found or None
