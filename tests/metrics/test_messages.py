"""What metrics say to wrong arguments and inputs, word for word.

In `messages.txt` each expression is followed by the error that it raises.
"""

from pathlib import Path

import numpy as np
import pytest

from minispore import train

TEXT = Path(__file__).with_name("messages.txt").read_text("utf-8")
PARTS = [part.splitlines() for part in TEXT.split("\n\n")]
NAMES: dict[str, object] = {name: getattr(train, name) for name in train.__all__}


@pytest.mark.parametrize(("expression", "said"), PARTS, ids=[part[0] for part in PARTS])
def test_what_is_said(expression: str, said: str) -> None:
    with pytest.raises(Exception, match=".") as raised:
        eval(expression, NAMES | {"np": np, "scores": [[0.1, 0.9], [0.8, 0.2]]})
    (words,) = raised.value.args
    assert f"{raised.type.__name__}: {words}" == said
