"""Floor 2: the mathematics. A rule takes arrays and returns a value and its pullbacks.

A rule is pure: what the pullbacks need are the closure's own variables. It is written in terms of
`namespace(x)` alone, so that it runs on numpy, on CuPy and on tensors; run on tensors that are
being recorded it gives the next derivative, which is why rules use nothing but what has a rule.
"""
