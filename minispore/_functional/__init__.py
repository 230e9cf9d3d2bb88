"""Apply derivative rules to tensors; the functional API beneath `ops`."""
