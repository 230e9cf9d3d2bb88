"""StateField and StatefulMixin: the state of a callback follows from its declared attributes."""

import copy
import inspect
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train import EarlyStopping
from minispore.train.resume import StateField, StatefulMixin


class Declared(StatefulMixin):
    count = StateField(int, -1)
    _names = StateField(list[str])
    _tables = StateField(dict[str, list[float]], key="rows")


class Extended(Declared):
    _flag = StateField(bool)


INITIAL: dict[str, object] = {"flag": False, "count": -1, "names": [], "rows": {}}
texts = st.text(max_size=3)
rows = st.dictionaries(texts, st.lists(st.floats(allow_nan=False), max_size=3), max_size=3)


@st.composite
def states(draw: st.DrawFn) -> dict[str, object]:
    fields = {"flag": st.booleans(), "count": st.integers(), "names": st.lists(texts), "rows": rows}
    return {name: draw(values) for name, values in fields.items()}


@given(states())
def test_state_is_what_was_loaded_until_it_is_reset(state: dict[str, object]) -> None:
    callback = Extended()
    assert callback.state_dict() == INITIAL
    callback.load_state_dict(state)
    for instance in (callback, copy.copy(callback), pickle.loads(pickle.dumps(callback))):
        assert instance.state_dict() == state
        assert list(instance.state_dict()) == list(INITIAL)
    assert [callback._flag, callback.count, callback._names, callback._tables] == list(
        state.values()
    )
    callback.reset_state()
    assert callback.state_dict() == INITIAL


def test_states_and_callbacks_share_no_containers() -> None:
    one, other = Extended(), Extended()
    state = one.state_dict()
    one._names.append("a")
    one._tables["b"] = [1.0]
    assert state == other.state_dict() == INITIAL
    saved = one.state_dict()
    other.load_state_dict(saved)
    other._names.append("c")
    other._tables["b"].append(2.0)
    assert one.state_dict() == saved == {**INITIAL, "names": ["a"], "rows": {"b": [1.0]}}


@pytest.mark.parametrize("key", INITIAL)
@pytest.mark.parametrize("wrong", [None, "text", [1], {"a": [None]}])
def test_invalid_state_changes_nothing(key: str, wrong: object) -> None:
    callback = Extended()
    callback.count = 5
    before = callback.state_dict()
    for state in ({**before, key: wrong}, {k: v for k, v in before.items() if k != key}):
        with pytest.raises(ValueError, match=f"^For 'Extended(.{key}(.a)?)?', the state"):
            callback.load_state_dict({**state, "count": 7} if key != "count" else state)
        assert callback.state_dict() == before


def test_class_has_no_value_of_a_field() -> None:
    assert not hasattr(EarlyStopping, "best")
    assert "on_train_begin" in dict(inspect.getmembers(EarlyStopping))
