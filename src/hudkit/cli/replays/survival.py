"""What was true before a compaction, is it true after it, and does the next frame show it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from hudkit.cli.replays.player import RecordedCompaction
from hudkit.compose import shorten, visible
from hudkit.compose.formats.markdown import parse
from hudkit.compose.formats.markdown.verbatim import LINE_END
from hudkit.compose.formats.mdast import text_of
from hudkit.hud.frame import Frame
from hudkit.sections.state import HudState
from hudkit.sections.task import NO_TASK_TEXT as NO_TASK
from hudkit.sections.task import task_text as task_words

KNOWN_BY = 40
"""Characters by which an item is recognised in a frame, which may show less than all of it."""

_Texts = Callable[[HudState], Iterable[str]]


def _task(state: HudState) -> Iterable[str]:
    """The task or what stands in for it; nothing where the frame says that there is none."""
    text, _ = task_words(state.task, state.session)
    return () if text == NO_TASK else (text,)


LIVE: tuple[tuple[str, _Texts], ...] = (
    ("task", _task),
    ("constraints", lambda s: (rule.words for rule in s.constraints)),
    ("preferences", lambda s: (preference.words for preference in s.preferences)),
    ("decisions", lambda s: (decision.words for decision in s.decisions)),
    ("open steps", lambda s: (step.description for step in s.steps.open)),
    ("open todos", lambda s: (todo.content for todo in s.todos.open)),
    ("blockers", lambda s: (blocker.words for blocker in s.blockers)),
    ("open errors", lambda s: (error.message for error in s.errors.open)),
    ("notes", lambda s: (note.words for note in s.notes)),
    ("edited files", lambda s: (file.path for file in s.files.active if file.status == "editing")),
)  # fmt: skip
"""What must survive (contract 4), by the name under which it is reported."""


class SurvivalCount(msgspec.Struct, frozen=True):
    """The live items of one kind at a compaction: how many there were, how many are there after it, and how many the
    first frame after it shows (`None` where no call followed); a frame counts those that it does not show."""

    kind: str
    items: tuple[str, ...]
    surviving: int = msgspec.field(name="kept")
    shown: int | None


class CompactionReport(msgspec.Struct, frozen=True):
    """One compaction, `after_turns` turns into the session. `lost` names what was live before and is not after."""

    trigger: str
    after_turns: int
    used_tokens: int | None
    summary_tokens: int
    held: tuple[SurvivalCount, ...]
    lost: tuple[str, ...]
    not_shown: tuple[str, ...]

    @property
    def items(self) -> int:
        """Return how many items were live when the compaction began."""
        return sum(len(kind.items) for kind in self.held)

    @property
    def surviving(self) -> int:
        """Return how many of those items are still live after it."""
        return sum(kind.surviving for kind in self.held)


def live_items(state: HudState) -> dict[str, tuple[str, ...]]:
    """Return the live items of a state by their kind; kinds without any are left out."""
    texts_by_kind = {kind: tuple(texts(state)) for kind, texts in LIVE}
    return {kind: texts for kind, texts in texts_by_kind.items() if texts}


def compare_compaction(compacted: RecordedCompaction, first: Frame | None, summary_tokens: int) -> CompactionReport:
    """Compare the states on both sides of a compaction, and with the first frame after it; return what survived."""
    after = live_items(compacted.after)
    seen = None if first is None else seen_words(first)
    held, lost, hidden = [], [], []
    for kind, items in live_items(compacted.before).items():
        gone = [text for text in items if text not in after.get(kind, ())]
        missing = [] if seen is None else [text for text in items if not names_item(text, seen)]
        held.append(
            SurvivalCount(kind, items, len(items) - len(gone), None if seen is None else len(items) - len(missing))
        )
        lost += gone
        hidden += missing
    return CompactionReport(
        trigger=compacted.trigger,
        after_turns=compacted.turns,
        used_tokens=compacted.used,
        summary_tokens=summary_tokens,
        held=tuple(held),
        lost=tuple(lost),
        not_shown=tuple(hidden),
    )


def seen_words(frame: Frame) -> str:
    """Return the words that a frame shows, without its markup."""
    return _words(text_of(parse(frame.text, gfm=True)))


def plain_words(text: str) -> str:
    """Return the words of a text that is no frame, one space between them."""
    return " ".join(visible(text, breaks=True).split())


def names_item(text: str, seen: str) -> bool:
    """Return whether an item is recognised, by its first words, in the words that are seen."""
    return shorten(_words(visible(text, breaks=True)), KNOWN_BY).rstrip("…") in seen


def _words(text: str) -> str:
    """Return the words of a text: a frame says in one line what has several, and leaves fences out."""
    words = [word for word in text.split() if word != LINE_END.strip() and not word.startswith("```")]
    return " ".join(words)
