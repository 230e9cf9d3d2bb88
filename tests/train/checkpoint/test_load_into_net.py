"""Loading into a network: by name, by common prefix, with conversion; all or nothing."""

import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.common import Parameter, Tensor
from minispore.engine import dtypes
from minispore.nn.cell import Cell
from minispore.train.serialization import load_param_into_net

CALLER = "For 'load_param_into_net',"
FLOATS = ("float16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64")
OTHERS = ("uint8", "uint16", "uint32", "uint64", "bool")


class Net(Cell):
    """A network with parameters of the given names."""

    def __init__(self, **values: npt.ArrayLike) -> None:
        super().__init__()
        for name, value in values.items():
            setattr(self, name, Parameter(Tensor(np.asarray(value)), name=name))

    def values(self) -> dict[str, object]:
        return {p.name: p.asnumpy().tolist() for p in self.get_parameters()}


def named(**values: npt.ArrayLike) -> dict[str, Parameter | str]:
    return {n: Parameter(Tensor(np.asarray(v)), name=n) for n, v in values.items()}


def titled(dtype: str) -> str:
    """Return MindSpore's name of a type."""
    return str(dtypes.from_array_dtype(np.dtype(dtype)))


def row(names: list[str]) -> dict[str, Parameter | str]:
    """Return the values 1.0, 2.0, … under these names."""
    return {
        name: Parameter(Tensor(np.full(1, index, np.float32)), name=name)
        for index, name in enumerate(names, 1)
    }


LETTERS = st.sets(st.sampled_from("abcdef")).map(sorted)


@given(LETTERS, LETTERS, st.booleans(), st.booleans())
def test_values_are_copied_by_name(
    others: list[str], unknown: list[str], note: bool, trained: bool
) -> None:
    """What was not loaded is returned, and what is trained stays the same."""
    unknown = [name.upper() for name in unknown]
    unchanged = {name: [1.0, 2.0] for name in others}
    net = Net(x=[0.0, 0.0], **unchanged)
    for parameter in net.get_parameters():
        parameter.requires_grad = trained
    source = named(x=[3.0, 4.0], **dict.fromkeys(unknown, 5.0)) | ({"note": "text"} if note else {})
    assert load_param_into_net(net, source) == (others, [*unknown, *["note"] * note])
    loaded = source["x"]
    assert isinstance(loaded, Parameter)
    loaded.asnumpy()[:] = 9
    assert net.values() == {"x": [3.0, 4.0], **unchanged}
    assert {parameter.requires_grad for parameter in net.get_parameters()} == {trained}


@given(st.sets(st.sampled_from("abcdef"), min_size=1), st.data())
def test_mismatches_are_listed_and_nothing_is_loaded(names: set[str], draw: st.DataObject) -> None:
    bad = draw.draw(st.sets(st.sampled_from(sorted(names)), min_size=1))
    net = Net(**{name: [1.0, 2.0] for name in sorted(names)})
    before = net.values()
    source = named(**{n: [3.0] * (3 if n in bad else 2) for n in names})
    with pytest.raises(RuntimeError) as caught:
        load_param_into_net(net, source)
    assert net.values() == before
    assert str(caught.value).splitlines() == [
        f"{CALLER} nothing was loaded, as these parameters do not fit:",
        *(f"    {n}: the net's shape is (2,), the checkpoint's (3,)" for n in sorted(bad)),
    ]


def test_one_element_loads_as_scalar_only() -> None:
    net = Net(a=1.0, b=[1.0])
    load_param_into_net(net, named(a=[2.0]))
    assert net.values() == {"a": 2.0, "b": [1.0]}
    with pytest.raises(RuntimeError, match=r"\(1,\), the checkpoint's \(\)"):
        load_param_into_net(net, named(b=2.0))
    with pytest.raises(RuntimeError, match=r"\(\), the checkpoint's \(1, 1\)"):
        load_param_into_net(net, named(a=[[2.0]]))


def fits(source: npt.NDArray[np.generic], target: str) -> bool:
    """Return whether MindSpore 2.10 converts: within the floats and within the signed integers."""
    if {str(source.dtype), target} <= {*FLOATS}:
        with np.errstate(over="ignore"):
            return np.array_equal(np.isfinite(source), np.isfinite(source.astype(target)))
    if {str(source.dtype), target} <= {*INTS}:
        return np.array_equal(source, source.astype(target))
    return str(source.dtype) == target


DTYPES = (*FLOATS, *INTS, *OTHERS)
LIKE = [(source, target) for kind in (FLOATS, INTS) for source in kind for target in kind]
numbers = st.sampled_from([0, 1, 100, 200, 1e6, 1e99, -1e99, np.inf, -np.inf, np.nan])


def check_loading(numbers: list[float], source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        value = np.array(numbers).astype(source)
    net = Net(a=np.zeros(len(value), target))
    types = f"a: the net's type is {titled(target)}, the checkpoint's {titled(source)}"
    if source != target:
        with pytest.raises(RuntimeError, match=f"\n    {types}$"):
            load_param_into_net(net, named(a=value), strict_load=True)
    if not fits(value, target):
        reason = ", which holds numbers that are too large for it" * ((source, target) in LIKE)
        with pytest.raises(RuntimeError, match=f"\n    {types}{reason}$"):
            load_param_into_net(net, named(a=value))
        value = np.zeros(len(value))
    else:
        load_param_into_net(net, named(a=value))
    (loaded,) = (parameter.asnumpy() for parameter in net.get_parameters())
    assert loaded.dtype == target
    np.testing.assert_array_equal(loaded, value.astype(target))


@given(st.lists(numbers, min_size=1, max_size=3), st.sampled_from(LIKE))
@example([200], ("int64", "int8"))
@example([1e6], ("float64", "float16"))
@example([-1e99], ("float64", "float32"))
@example([np.inf, -np.inf, np.nan], ("float32", "float16"))
def test_only_representable_numbers_are_converted(
    numbers: list[float], dtypes: tuple[str, str]
) -> None:
    check_loading(numbers, *dtypes)


@pytest.mark.parametrize("target", DTYPES)
def test_only_like_dtypes_are_converted(target: str) -> None:
    for source in DTYPES:
        check_loading([1, 1], source, target)


# Which value each of the net's names gets (0: none), as MindSpore 2.10 does it, but for the last
# three: there MindSpore gives one value to two parameters.
@pytest.mark.parametrize(
    ("net", "file", "got"),
    [
        ("w", "a.w", [1]),
        ("w b", "a.w a.b", [1, 2]),
        ("w b", "a.w c.b", [1, 2]),
        ("w b", "c.b a.w", [2, 1]),
        ("w b", "w a.b", [1, 2]),
        ("w b", "x.y.w x.y.b", [1, 2]),
        ("w b", "x.w x.y.b x.y.w", [1, 2]),
        ("w", "aw", [1]),
        ("w.v", "w.v.w.v", [1]),
        ("v", "a.b.v b.v", [1]),
        ("w b", "a.w a.z", [1, 0]),
        ("w b", "w b a.b", [1, 2]),
        ("w b", "a.w b.b a.b", [1, 3]),
        ("w z", "w moments.w moments.z", [1, 3]),
        ("w z", "w accum.w stat.w", [1, 0]),
        ("w m.w", "m.w", [0, 1]),
        ("w bb.w", "c.bb.w", [0, 1]),
        ("w bb.w", "ccc.w", [1, 0]),
        ("w bb.w", "c.bb.w c.w", [2, 1]),
    ],
)
def test_common_prefix_is_matched(net: str, file: str, got: list[int]) -> None:
    names = net.split()
    cell = Net()
    for index, name in enumerate(names):
        setattr(cell, f"p{index}", Parameter(Tensor(np.zeros(1, np.float32)), name=name))
    source = row(file.split())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        missing, unused = load_param_into_net(cell, source)
    assert cell.values() == {n: [float(g)] for n, g in zip(names, got, strict=True)}
    assert missing == [n for n, g in zip(names, got, strict=True) if not g]
    assert unused == [n for i, n in enumerate(source, 1) if i not in got]
    exact = {n for n in names if n in source}
    assert bool(caught) == any(g and n not in exact for n, g in zip(names, got, strict=True))


def test_duplicate_parameter_names_raise() -> None:
    net = Net(a=1.0, b=2.0)
    for parameter in net.get_parameters():
        parameter.name = "p"
    with pytest.raises(
        ValueError, match=f"^{CALLER} two parameters of the argument 'net' have the name 'p'\\.$"
    ):
        load_param_into_net(net, named(p=3.0))


def test_prefix_warning_names_prefix() -> None:
    reason = (
        f"^{CALLER} parameters without a value of their name are loaded from those whose names "
        r"begin with 'a\.'\.$"
    )
    with pytest.warns(UserWarning, match=reason):
        load_param_into_net(Net(w=[0.0]), row(["a.w"]))


def test_strict_load_ignores_prefixes() -> None:
    net = Net(w=[0.0])
    with pytest.warns(UserWarning, match="nothing was loaded"):
        assert load_param_into_net(net, row(["a.w"]), strict_load=True) == (["w"], ["a.w"])
    assert net.values() == {"w": [0.0]}
