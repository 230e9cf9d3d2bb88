"""Floor 2: tensors, parameters, data types, initialisers, seed and context."""
