"""What of a state must outlive a compaction: the live items of each section, as texts."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.sections.state import HudState

Live = Mapping[str, tuple[str, ...]]
"""Texts of a section's live items, in order; only sections that have some."""


def live(state: HudState) -> Live:
    """The live items of a state, by section, in the order of the document."""
    found = {
        "task": (state.task.description,) if state.task else (),
        "constraints": tuple(one.text for one in state.constraints),
        "blockers": tuple(one.words for one in state.blockers),
        "steps": tuple(one.description for one in state.steps.open),
        "todos": tuple(one.content for one in state.todos.open),
        "decisions": tuple(one.words for one in state.decisions),
        "errors": tuple(one.message for one in state.errors.open),
        "notes": tuple(one.words for one in state.notes),
        "files": tuple(one.path for one in state.files.active if one.status == "editing"),
        "plans": tuple(one.path for one in state.progress.plans),
        "custom": tuple(one.name for one in state.custom),
    }
    return {name: texts for name, texts in found.items() if texts}


def lost(before: Live, after: Live) -> tuple[tuple[str, str], ...]:
    """Section and text of each item of `before` that `after` does not have. Contract 4: always empty."""
    return tuple((name, text) for name, texts in before.items() for text in texts if text not in after.get(name, ()))


def new(before: Live, after: Live) -> tuple[tuple[str, str], ...]:
    """Section and text of each item that only `after` has: a compaction brings none back."""
    return lost(after, before)


def counted(found: Live) -> str:
    """How many items there are of each kind: `the task, 2 constraints, 1 note`."""
    words = []
    for name, texts in found.items():
        one = name.removesuffix("s") if name not in ("custom",) else "custom section"
        words.append("the task" if name == "task" else f"{len(texts)} {one}{'' if len(texts) == 1 else 's'}")
    return ", ".join(words)
