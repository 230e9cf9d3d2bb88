"""MindSpore's module of loss scale managers, which minispore does not support."""

from minispore.utils.unsupported import module_attributes

__all__: list[str] = []

globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
