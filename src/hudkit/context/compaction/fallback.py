"""A summary without a model: what the log knows, where the model that was to write one failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hudkit.compose import shorten
from hudkit.sections.state import HudState

MOST = 6_000
"""Characters of a static summary."""
LINE = 300
"""Characters of one line of it."""
ITEMS = 10
"""Items of a part, the newest."""
SHORT = 400
"""Characters up to which a text is looked at for a refusal; a longer one is taken for a summary."""

_REFUSES = re.compile(
    r"(?:i['’]?m |i am )?(?:sorry|afraid|unable to|not able to|i can(?:not|['’]t)|i won['’]t|as an ai\b)"
    r".*\b(?:can(?:not|['’]t)|won['’]t|unable|not able|assist|help|comply|summari[sz]e|continue)\b",
    re.I | re.S,
)


def unusable(text: str, finish: str = "") -> str:
    """What is wrong with a text as a summary, in a word or two; empty where nothing is."""
    said = text.strip()
    if not said:
        return "summary was empty"
    if finish in ("content-filter", "content_filter", "refusal"):
        return "answer was filtered"
    if len(said) <= SHORT and "\n#" not in f"\n{said}" and _REFUSES.match(said):
        return "answer was a refusal"
    return ""


def static_summary(state: HudState, requests: Sequence[str] = (), *, shown: bool = False) -> str:
    """What a log knows of the work, as a summary with headings. `requests` are the user's last ones, oldest first
    (not given: the last that was recorded). `shown`: the HUD stands beside it, so that only what no section of the
    HUD says is told."""
    asked = list(requests) or ([state.session.request] if state.session.request else [])
    parts: list[tuple[str, list[str]]] = []
    if not shown:
        parts = [
            ("Task", [state.task.description] if state.task else []),
            ("Constraints", [one.text for one in state.constraints]),
            ("Decisions", [one.words for one in state.decisions]),
            ("Open steps", [one.description for one in state.steps.open]),
            ("Open todos", [one.content for one in state.todos.open]),
            ("Blockers", [one.words for one in state.blockers]),
            ("Notes", [one.words for one in state.notes]),
            ("Files", [one.path for one in state.files.active]),
        ]
    resolved = [one.message for one in state.errors if one.resolved][-1:]
    failed = [one.message for one in state.errors.open][-1:]
    parts += [
        ("Last requests", asked[-3:]),
        ("Done", [one.description for one in state.steps if one.completed]),
        ("Last error", failed if failed and not shown else [f"{one} (resolved)" for one in resolved]),
        ("Commits", [f"{one.sha[:10]} {one.subject}".strip() for one in state.progress.recent_commits]),
    ]
    text = "\n\n".join(_part(title, lines) for title, lines in parts if lines)
    return text if len(text) <= MOST else text[:MOST].rsplit("\n", 1)[0]


def _part(title: str, lines: Iterable[str]) -> str:
    told = [shorten(" ".join(one.split()), LINE) for one in lines][-ITEMS:]
    return "\n".join((f"## {title}", *(f"- {one}" for one in told)))
