"""MindSpore's metrics that are left out: they show nothing of a training stack."""

_DISTANCES = "Distances of surfaces are in MONAI and, with a few lines, in scipy.ndimage."
_OWN = "A metric of your own takes three methods: see minispore.train.Metric."

LEFT_OUT = {
    "BleuScore": f"The package sacrebleu computes it. {_OWN}",
    "HausdorffDistance": f"{_DISTANCES} {_OWN}",
    "MeanSurfaceDistance": f"{_DISTANCES} {_OWN}",
    "OcclusionSensitivity": f"The package captum computes it. {_OWN}",
    "RootMeanSquareDistance": f"{_DISTANCES} {_OWN}",
}
# The same, by the names for `get_metric_fn`.
LEFT_OUT_NAMES = {
    "bleu_score": "BleuScore",
    "hausdorff_distance": "HausdorffDistance",
    "mean_surface_distance": "MeanSurfaceDistance",
    "occlusion_sensitivity": "OcclusionSensitivity",
    "root_mean_square_distance": "RootMeanSquareDistance",
}
