"""The interactive course: lessons with exercises cut from the shipped source, and their grading.

A lesson is a module in `lessons` and a page in docs/learn. Exercises are extracted from the
package's own source on request; a submission is checked in a separate process. The course needs
hypothesis, which ``pip install 'minispore[testing]'`` installs.

Its modules import `common`, `dataset`, `drawing`, `engine`, `nn`, `testing`, `train` and `utils`.
"""


class CourseError(Exception):
    """A lesson that does not exist, or a file that is missing or unreadable."""
