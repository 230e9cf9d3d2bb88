"""Floor 3: where rules meet values. Functions of tensors, before anyone says Tensor."""
