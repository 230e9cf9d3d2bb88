"""The course: lessons whose exercises are made from the shipped source, and what grades them.

A lesson is a module in `lessons` and a page in docs/learn. What the learner gets is cut out of the
package's own source when it is asked for; what the learner hands in runs in a process of its own.
It needs hypothesis, which ``pip install 'minispore[testing]'`` brings.
"""
