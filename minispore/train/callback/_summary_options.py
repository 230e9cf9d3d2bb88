"""What a `SummaryCollector` collects: its options, checked and completed."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias, cast

_OWNER: Final = "SummaryCollector"
_SWITCHES: Final = (
    "collect_metric",
    "collect_graph",
    "collect_train_lineage",
    "collect_eval_lineage",
    "collect_input_data",
    "collect_dataset_graph",
)
_KEYS: Final = (*_SWITCHES, "histogram_regular", "collect_landscape")
_LANDSCAPE_KEYS: Final = (
    "landscape_size",
    "unit",
    "num_samples",
    "create_landscape",
    "intervals",
)
_Intervals: TypeAlias = list[list[int]]


class LandscapeOptions(NamedTuple):
    """How a loss landscape is to be made.

    Attributes:
        landscape_size: Its points in each direction.
        unit: What `intervals` count: "step" or "epoch".
        num_samples: The samples that a loss is the mean of.
        train: Whether one is made of each interval of the training.
        result: Whether one is made around the last parameters of all.
        intervals: The epochs or steps whose parameters are saved, in groups; None for all of the
            run in one group.
    """

    landscape_size: int = 40
    unit: str = "step"
    num_samples: int = 2048
    train: bool = True
    result: bool = False
    intervals: _Intervals | None = None


class Options(NamedTuple):
    """What to collect.

    Attributes:
        metric: The loss, and the results of evaluations.
        graph: The network's graph.
        train_lineage: With what is trained.
        eval_lineage: What an evaluation found.
        input_data: The batch, if its first column holds images.
        histograms: A pattern for the names of parameters; "" for none, None for the first five.
        landscape: The parameters for a loss landscape, or None.
    """

    metric: bool
    graph: bool
    train_lineage: bool
    eval_lineage: bool
    input_data: bool
    histograms: str | None
    landscape: LandscapeOptions | None


def check_kind(value: object, kinds: tuple[type, ...], name: str, *, none: bool = False) -> None:
    """Raise TypeError, in MindSpore's words, unless `value` is of one of these very types."""
    if type(value) in kinds or (none and value is None):
        return
    wanted = [kind.__name__ for kind in kinds] + (["NoneType"] if none else [])
    raise TypeError(
        f"For `{name}` the type should be a valid type of {wanted}, but got {type(value).__name__}."
    )


def check_positive(value: object, name: str, *, none: bool = False) -> None:
    """Raise TypeError or ValueError unless `value` is a positive int."""
    check_kind(value, (int,), name, none=none)
    if value is not None and cast("int", value) <= 0:
        raise ValueError(
            f'For "{_OWNER}", the value of `{name}` should be greater than 0, but got `{value}`.'
        )


def read_options(given: object, *, keep_default: bool) -> Options:
    """Check what `collect_specified_data` says and complete it.

    Raises:
        TypeError: A key or value is of the wrong type.
        ValueError: There is no such key, or a value is out of range.
    """
    check_kind(given, (dict,), "collect_specified_data", none=True)
    items = cast("dict[object, object]", given or {})
    chosen = _known(items, _KEYS, "collect_specified_data")
    for key in _SWITCHES:
        if key in chosen:
            check_kind(chosen[key], (bool,), key)
    if chosen.get("collect_dataset_graph"):
        raise NotImplementedError(
            f"For '{_OWNER}', 'collect_dataset_graph' is not covered: MindInsight's graph of a "
            "dataset is not written. 'custom_lineage_data' can say in words what is trained on."
        )
    landscape = chosen.get("collect_landscape")
    check_kind(landscape, (dict,), "collect_landscape", none=True)
    on = {key: bool(chosen.get(key, keep_default)) for key in _SWITCHES}
    return Options(
        on["collect_metric"],
        on["collect_graph"],
        on["collect_train_lineage"],
        on["collect_eval_lineage"],
        on["collect_input_data"],
        _pattern(chosen, keep_default=keep_default),
        None if landscape is None else read_landscape(landscape, _OWNER),
    )


def read_landscape(given: object, owner: str) -> LandscapeOptions:
    """Check what `collect_landscape` says; TypeError or ValueError as `read_options`."""
    check_kind(given, (dict,), "collect_landscape")
    items = _known(cast("dict[object, object]", given), _LANDSCAPE_KEYS, "collect_landscape", owner)
    default = LandscapeOptions()
    size = items.get("landscape_size", default.landscape_size)
    check_kind(size, (int,), "landscape_size")
    if not 3 < cast("int", size) < 256:
        raise ValueError(
            f'For "{owner}", the "landscape_size" in collect_specified_data should be less than '
            f"256 and more than 3, but got the: {size}"
        )
    unit = items.get("unit", default.unit)
    if not isinstance(unit, str) or unit not in {"step", "epoch"}:
        raise ValueError(
            f'For "{owner}", unit in collect_specified_data should be step or epoch, '
            f"but got the: {unit}."
        )
    samples = items.get("num_samples", default.num_samples)
    check_positive(samples, "num_samples")
    create = items.get("create_landscape", {})
    check_kind(create, (dict,), "create_landscape")
    makes = _known(
        cast("dict[object, object]", create), ("train", "result"), "create_landscape", owner
    )
    for key, value in makes.items():
        check_kind(value, (bool,), key)
    return LandscapeOptions(
        cast("int", size),
        unit,
        cast("int", samples),
        bool(makes.get("train", default.train)),
        bool(makes.get("result", default.result)),
        _intervals(items["intervals"], owner) if "intervals" in items else None,
    )


def _known(
    items: dict[object, object], keys: tuple[str, ...], name: str, owner: str = _OWNER
) -> Mapping[str, object]:
    for key in items:
        check_kind(key, (str,), str(key))
    unknown = {str(key) for key in items} - set(keys)
    if unknown:
        raise ValueError(
            f'For "{owner}", the keys {unknown} of `{name}` are unsupported, '
            f"expect the follow keys: {list(keys)}"
        )
    return cast("dict[str, object]", items)


def _pattern(chosen: Mapping[str, object], *, keep_default: bool) -> str | None:
    pattern = chosen.get("histogram_regular")
    check_kind(pattern, (str,), "histogram_regular", none=True)
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(
                "For `collect_specified_data`, the value of `histogram_regular` is not a valid "
                f"regular expression. Detail: {error}."
            ) from None
        return pattern
    return None if keep_default or "histogram_regular" in chosen else ""


def _intervals(value: object, owner: str) -> _Intervals:
    check_kind(value, (list,), "intervals")
    for interval in cast("list[object]", value):
        check_kind(interval, (list,), "each interval in intervals")
        numbers = cast("list[object]", interval)
        if len(numbers) < 3:
            raise ValueError(
                f'For "{owner}", the length of each list in "intervals" should not be less than '
                f"three, but got the: {numbers}"
            )
        for number in numbers:
            check_kind(number, (int,), "each value in intervals")
    return cast("_Intervals", value)
