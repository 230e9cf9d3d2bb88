"""The rules of the normal distribution, which are imported when they are first used."""

from minispore.engine.rules.normal import erf, erfc, normal_cdf

__all__ = ["erf", "erfc", "normal_cdf"]
