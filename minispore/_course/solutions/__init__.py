"""Solutions of the exercises that begin with an empty file.

Each `run_log_NN` has the callback `RunLog` as it is after lesson NN, a subclass of that before.

Its modules import `common`, `engine`, `nn` and `train`.
"""
