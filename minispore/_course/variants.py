"""Variants of exercises: other names of what is to be written, and another contract.

A solution of the page, or of another variant, does not pass. The properties are written for the
names of the page: before a check, what the learner has named gets these names as well.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType

from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.source import mutated_text


def vary(exercise: CodeExercise | TestExercise, seed: int) -> CodeExercise | TestExercise:
    """Return a variant of an exercise; the same seed gives the same one.

    Args:
        exercise: The exercise of the page.
        seed: The number of the variant. It is added to the names, and chooses the contract in turn.

    Returns:
        The exercise with other names and tasks and, if it has contracts, other properties; its bugs
        are still those of the page's.
    """
    names = {name: f"{name}_v{seed}" for name in exercise.tasks}
    if isinstance(exercise, TestExercise):
        task = renamed(exercise.task, names)
        return replace(exercise, name=names[exercise.name], task=task, names=names)
    tasks = dict(exercise.tasks)
    if exercise.contracts:
        contract = exercise.contracts[seed % len(exercise.contracts)]
        tasks[contract.task] += f" In this variant: {contract.text}"
        exercise = replace(exercise, properties=contract.properties)
    tasks = {names[old]: renamed(text, names) for old, text in tasks.items()}
    return replace(exercise, tasks=tasks, names=names)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return code or feedback with the names of a variant.

    >>> renamed("your scale: def scale(x): …", {"scale": "scale_v2"})
    'your scale_v2: def scale_v2(x): …'
    """
    for old, new in _last_parts(names):
        pattern = rf"(?<=your ){old}\b|(?<=`){old}(?=[`.(])|(?<![.\w]){old}(?=\()"
        if "_" in old:  # others may be words, as `train`
            pattern = rf"\b{old}\b"
        text = re.sub(pattern, new, text)
    return text


def _last_parts(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for old, new in names.items():
        yield old.rpartition(".")[2], new.rpartition(".")[2]


def restore_names(work: ModuleType, names: Mapping[str, str]) -> None:
    """Give what a module defines the names of the page as well, on which the properties rely."""
    for old, new in names.items():
        owner: object = work
        *parents, last = new.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        setattr(owner, old.rpartition(".")[2], getattr(owner, last))


def own_solution(exercise: CodeExercise, seed: int) -> str:
    """Return the source of the exercise's module, changed into a solution of a variant."""
    contract = exercise.contracts[seed % len(exercise.contracts)] if exercise.contracts else None
    text = mutated_text(exercise.module, *(contract.changes if contract else ()))
    names = vary(exercise, seed).names
    return "\n".join([text, *(f"{new} = {old}" for old, new in names.items()), ""])
