"""MindSpore's names in `mindspore.train` that are left out: they need Ascend, or its graphs."""

_WHOLE = "Every process holds the whole network: use save_checkpoint in the first, and"
_SCALE = (
    "Everything is computed in the precision it is given, so there is nothing to scale; an "
    "optimizer's 'loss_scale' divides the gradients."
)
_GRAPH = "There are no compiled graphs. Use save_checkpoint for the parameters, and build the cells"

LEFT_OUT = {
    "ConvertModelUtils": "It is for boosting on Ascend. Use Model as it is.",
    "ConvertNetUtils": "It is for boosting on Ascend. Use the network as it is.",
    "DatasetHelper": "Data are not sunk to a device. Go through create_tuple_iterator().",
    "DynamicLossScaleManager": _SCALE,
    "FixedLossScaleManager": _SCALE,
    "LossScaleManager": _SCALE,
    "TrainFaultTolerance": (
        "It needs Ascend and MindIO TFT. Use BackupAndRestore, which goes on after a crash, "
        "OnRequestExit, which saves when asked to exit, or "
        "CheckpointConfig(exception_save=True), which saves on an error."
    ),
    "build_searched_strategy": f"{_WHOLE} load_checkpoint.",
    "build_train_network": "Use nn.TrainOneStepCell(nn.WithLossCell(network, loss_fn), optimizer).",
    "connect_network_with_dataset": "Data are not sunk to a device. Call the network on a batch.",
    "data_sink": "Data are not sunk to a device. Loop over dataset.create_tuple_iterator().",
    "export": f"{_GRAPH} where they are wanted.",
    "export_split_mindir": f"{_GRAPH} where they are wanted.",
    "get_ckpt_path_with_strategy": f"{_WHOLE} load_checkpoint.",
    "load": f"{_GRAPH} and call load_checkpoint(file, net).",
    "load_distributed_checkpoint": f"{_WHOLE} load_checkpoint.",
    "merge_sliced_parameter": f"{_WHOLE} load_checkpoint.",
    "restore_group_info_list": f"{_WHOLE} load_checkpoint.",
}
