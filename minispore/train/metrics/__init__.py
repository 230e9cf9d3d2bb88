"""The metrics that `Model.eval` computes, and their names."""

from minispore._metrics import *  # noqa: F403
