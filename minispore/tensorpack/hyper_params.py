"""Hyper-parameters: numbers of a training that can be read and changed while it goes on."""

import math
from abc import ABC, abstractmethod
from typing import Final

from minispore._atomic import regular
from minispore.common import Parameter, Tensor
from minispore.tensorpack.channel import as_float, suggest
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import Trainer
from minispore.train.callback._learning_rate import learning_rate_of

_TOLD: Final = 20  # lines, and
_SHOWN: Final = 60  # characters of them: the file may be any other


class HyperParam(ABC):
    """A number that can be read and changed.

    Attributes:
        readable_name: How it is called in messages and files.

    Examples:
        >>> class Volume(HyperParam):
        ...     readable_name = "volume"
        ...     def get_value(self) -> float:
        ...         return 0.5
        ...     def set_value(self, v: float) -> None:
        ...         print("now", v)
        >>> Volume().set_value(0.25)
        now 0.25
    """

    readable_name: str

    def setup_graph(self, trainer: Trainer) -> None:
        """Find it in the training; ValueError if it is not there."""
        del trainer

    @abstractmethod
    def get_value(self) -> float:
        """Return it."""

    @abstractmethod
    def set_value(self, v: float) -> None:
        """Change it."""


@checked
class GraphVarParam(HyperParam):
    """A parameter of one element, of the network or the optimiser.

    Source: tensorpack.callbacks.GraphVarParam.

    Args:
        name: Its name; "learning_rate" for the one that the optimiser has.
        shape: Accepted and without effect.

    Examples:
        >>> from minispore.tensorpack import HyperParamSetterWithFunc
        >>> from minispore.tensorpack._examples import train
        >>> rate = GraphVarParam("learning_rate")
        >>> train(HyperParamSetterWithFunc(rate, lambda epoch, value: value / 2))
        After 3 steps, learning_rate changes from 0.5 to 0.25.
        After 6 steps, learning_rate changes from 0.25 to 0.125.
    """

    def __init__(self, name: str, shape: tuple[int, ...] = ()) -> None:
        self.readable_name = name
        self._parameter: Parameter | None = None

    def setup_graph(self, trainer: Trainer) -> None:
        """Find the parameter.

        Raises:
            ValueError: There is none, or it has several elements, or a schedule changes it.
        """
        name = self.readable_name
        if name == "learning_rate":
            self._parameter = learning_rate_of(trainer.run_context, "HyperParamSetter")
            return
        parameters = trainer.params.train_network.get_parameters()
        single = {each.name: each for each in parameters if each.size == 1}
        if name not in single:
            raise ValueError(
                f"There is no parameter {name!r} of one element{suggest(name, list(single))}"
            )
        self._parameter = single[name]

    @property
    def parameter(self) -> Parameter:
        """The parameter; RuntimeError before `setup_graph`."""
        if self._parameter is None:
            raise RuntimeError(f"The parameter {self.readable_name!r} is known in training only.")
        return self._parameter

    def get_value(self) -> float:
        """Return it."""
        value = as_float(self.parameter)
        assert value is not None, "it has one element"
        return value

    def set_value(self, v: float) -> None:
        """Change it."""
        self.parameter.set_data(Tensor(v, self.parameter.dtype).reshape(self.parameter.shape))


@checked
class ObjAttrParam(HyperParam):
    """An attribute of an object.

    Source: tensorpack.callbacks.ObjAttrParam.

    Args:
        obj: The object.
        attrname: The attribute.
        readable_name: How to call it; by default like the attribute.

    Examples:
        >>> from types import SimpleNamespace
        >>> box = SimpleNamespace(rate=0.5)
        >>> ObjAttrParam(box, "rate").set_value(0.25)
        >>> box.rate
        0.25
    """

    def __init__(self, obj: object, attrname: str, readable_name: str | None = None) -> None:
        self._obj, self._name = obj, attrname
        self.readable_name: str = attrname if readable_name is None else readable_name

    def get_value(self) -> float:
        """Return it.

        Raises:
            TypeError: It is no number.
        """
        value = as_float(getattr(self._obj, self._name))
        if value is None:
            raise TypeError(f"The attribute '{self._name}' of {self._obj!r} is no number.")
        return value

    def set_value(self, v: float) -> None:
        """Change it."""
        setattr(self._obj, self._name, v)


class HyperFile:
    r"""A file with hyper-parameters, which a person edits while a training goes on.

    Lines `name: number`, with spaces as one likes; empty lines and those after `#` are nothing.
    A last line without its end may be half written: it counts once the file has not changed from
    one reading to the next. Nothing in the file is ever evaluated.

    Args:
        path: The file, which need not be there.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = HyperFile(os.path.join(folder.name, "hyper.txt"))
        >>> with open(file.path, "w", encoding="utf-8") as written:
        ...     _ = written.write("learning_rate : 1e-3\nmomentum 0.9\nweight_decay: 0.0")
        >>> file.read()
        ({'learning_rate': 0.001}, ["line 2 is no 'name: number': 'momentum 0.9'"])
        >>> file.read()
        ({'learning_rate': 0.001, 'weight_decay': 0.0}, [])
        >>> folder.cleanup()
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._before = ""
        self._told: list[str] = []

    def read(self) -> tuple[dict[str, float], list[str]]:
        """Return the numbers by name, the last of each counting, and what is newly wrong."""
        text, wrong, values = "", list[str](), dict[str, float]()
        try:
            with open(self.path, encoding="utf-8", errors="replace", opener=regular) as file:
                text = file.read()
        except FileNotFoundError:
            pass
        except OSError as error:
            wrong.append(f"it cannot be read: {error.strerror}")
        for number, line in enumerate(text.splitlines(keepends=True), start=1):
            content = line.partition("#")[0].strip()
            if content and (line.endswith("\n") or text == self._before):
                name, value = _parsed(content)
                if name and math.isfinite(value):
                    values[name] = value
                else:
                    wrong.append(f"line {number} is no 'name: number': {content[:_SHOWN]!r}")
        wrong = wrong[:_TOLD]
        news = [each for each in wrong if each not in self._told]
        self._before, self._told = text, wrong
        return values, news


def _parsed(line: str) -> tuple[str, float]:
    name, _, value = line.partition(":")
    try:
        return name.strip(), float(value)
    except ValueError:
        return "", math.nan
