"""Lineage: custom data that can be written, and the defaults."""

from minispore.train.summary.lineage import EvaluationLineage, TrainLineage


def test_lineage_defaults_match_mindspore() -> None:
    assert TrainLineage("Net") == (
        "Net", "", "", 0.0, 0.0, 0, 0, 0, '{"ckpt": null}', 0, "stand_alone", 1
    )  # fmt: skip
    assert EvaluationLineage({}) == ({}, 0)
