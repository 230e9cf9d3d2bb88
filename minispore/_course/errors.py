"""What the learner or the teacher can mend, told in one sentence."""


class CourseError(Exception):
    """A lesson that does not exist, or a file that is missing or unreadable."""
