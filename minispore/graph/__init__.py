"""Graph mode: a step is captured once, and replayed while its guards hold.

`tape` has arrays that note what is computed with them, `program` binds the calls of a tape to
memory, `guards` compares what a step reads, and `cache` has the plans of each step. The packages
below have only hooks, in `engine.array.capture_hooks`.
"""
