"""Hyper-parameters: numbers of a training that can be read and changed while it goes on."""

from abc import ABC, abstractmethod

from minispore.common import Parameter, Tensor
from minispore.tensorpack.channel import as_float, suggest
from minispore.tensorpack.trainer import Trainer
from minispore.train.callback._learning_rate import learning_rate_of


class HyperParam(ABC):
    """A number that can be read and changed.

    Attributes:
        readable_name: How it is called in messages and files.
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


class GraphVarParam(HyperParam):
    """A parameter of one element, of the network or the optimiser.

    Source: tensorpack.callbacks.GraphVarParam.

    Args:
        name: Its name; "learning_rate" for the one that the optimiser has.
        shape: Accepted and without effect.
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
        own = {each.name: each for each in trainer.params.train_network.get_parameters()}
        if name not in own or own[name].size != 1:
            single = [known for known, each in own.items() if each.size == 1]
            raise ValueError(
                f"There is no parameter {name!r} of one element{suggest(name, single)}"
            )
        self._parameter = own[name]

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
