"""The summary of a compaction: what a model is asked for, whether its answer can be used, and what stands in for it.

Where the model that was to write a summary failed, the log writes one of what it knows. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hudkit.compose import shorten, visible
from hudkit.sections.state import HudState

SUMMARY_SYSTEM_PROMPT = (
    "You are about to lose the older part of your own conversation. Write down what you need in order to go on with "
    "the same work. You have no tools here; answer with the text alone."
)
"""The system prompt of a compaction, where a host has none of its own."""

SUMMARY_PARTS: tuple[tuple[str, str], ...] = (
    ("Goal", "what the user wants in the end, and why, as far as it was said"),
    ("Instructions", "rules and wishes of the user that still hold, each as close to their words as possible"),
    ("Discoveries", "what turned out on the way: causes, surprises, dead ends and why they were dead"),
    ("Accomplished", "what is finished, what is half done, and exactly where work stopped"),
    ("Relevant files", "paths that matter from here on, each with a word on what is in it or changed in it"),
    ("Notes", "anything else that would be missed: commands that worked, numbers, names, open questions"),
)
"""Titles of the summary's parts, in order, and what belongs into each."""


MAX_ENDED_ITEMS = 40
"""Texts that are named as being over, the newest ones."""

MAX_ENDED_CHARS = 160
"""Characters of one of them, and of one that holds and is not shown."""


def summary_prompt(hud: str, summary: str = "", over: Sequence[str] = (), unshown: Sequence[str] = ()) -> str:
    """Return the prompt of a compaction.

    `hud` is what the next frame will show, empty where nothing is recorded; `unshown` are texts that hold and for
    which that frame has no room: of these the summary is the only place. `over` are texts that the conversation
    holds and that are no longer so: replaced, removed, done or resolved.

    `summary` is what the last compaction wrote: hosts leave it out of what they compact (OpenCode 1.18 does
    where a plugin sets the prompt), so it has to be carried on from here.
    """
    parts = "\n".join(f"## {title}\n({what})" for title, what in SUMMARY_PARTS)
    earlier = (
        "What you wrote at the compaction before this one is not in the conversation above any more. Carry on what "
        f"of it still holds:\n\n<summary>\n{summary.strip()}\n</summary>\n\n"
        if summary.strip()
        else ""
    )
    return (
        "The conversation above is about to leave your window. You go on with the same work right after this, with "
        "only what you write down now. Write to yourself, in the first person, as someone who knows the work but has "
        "forgotten the conversation.\n\n"
        f"{summary_notes(hud, over, unshown)}"
        f"{earlier}"
        "Write these six parts, in this order, with these headings. Be specific: exact paths, names, values and "
        "error texts. Leave out what can be read again from the files. Write nothing before or after them; where "
        "a part has nothing, write a dash.\n\n"
        f"{parts}\n"
    )


def summary_notes(hud: str, over: Sequence[str] = (), unshown: Sequence[str] = ()) -> str:
    """Return what a prompt of a compaction tells of the HUD, whoever asks; empty where nothing is recorded.

    The parameters are those of `summary_prompt`.
    """
    display = (
        "Your heads-up display is kept outside of this conversation. It stays as it is and will be in front of you "
        "after the compaction, so do not copy it; say what it does not say. This is what it will show:\n\n"
        f"<hud>\n{hud.strip()}\n</hud>\n\n"
        if hud.strip()
        else ""
    )
    ended = "".join(f"- {shorten(visible(text), MAX_ENDED_CHARS)}\n" for text in over[-MAX_ENDED_ITEMS:])
    no_longer = (
        "These were replaced, removed, done or resolved since. Whatever the conversation says of them, do not write "
        f"them down as if they still held:\n\n<over>\n{ended}</over>\n\n"
        if ended
        else ""
    )
    return f"{display}{_unshown_notes(unshown)}{no_longer}"


def echoed_notes(unshown: Sequence[str] = ()) -> str:
    """Return what a prompt of a compaction tells of the HUD where its text stays in the new window.

    It names nothing that the HUD will show there, nor what is over: both stand in the conversation that is
    summarised, and would stand in the window beside the HUD. `unshown` is as in `summary_prompt`.
    """
    return f"{_BLOCKS_STAY}{_unshown_notes(unshown)}"


_BLOCKS_STAY = (
    "The HUD in the conversation above, with all blocks that begin with its tag, comes back behind your summary as "
    "it is then. Do not copy it, and write down nothing that one of these blocks replaced, removed or ended.\n\n"
)


def _unshown_notes(unshown: Sequence[str]) -> str:
    held = "".join(f"- {shorten(visible(text), MAX_ENDED_CHARS)}\n" for text in unshown)
    if not held:
        return ""
    return (
        "These hold as well, and the display has no room for them: write down each that may still matter.\n\n"
        f"<unshown>\n{held}</unshown>\n\n"
    )


# -- where a model wrote none ----------------------------------------------------------------------------------

NOTHING_KNOWN = "Nothing is known of the work so far."
"""The summary where neither a model nor the log has one."""

MAX_STATIC_CHARS = 6_000
"""Characters of a static summary."""

MAX_LINE_CHARS = 300
"""Characters of one line of it."""

MAX_ITEMS = 10
"""Items of a part of it, the newest."""

MAX_REQUESTS = 3
"""Requests of the user's in it, the newest."""

REFUSAL_CHARS = 400
"""Characters up to which a text is looked at for a refusal; a longer one is taken for a summary."""

_REFUSES = re.compile(
    r"(?:i['’]?m |i am )?(?:sorry|afraid|unable to|not able to|i can(?:not|['’]t)|i won['’]t|as an ai\b)"
    r".*\b(?:can(?:not|['’]t)|won['’]t|unable|not able|assist|help|comply|summari[sz]e|continue)\b",
    re.I | re.S,
)


def unusable_reason(text: str, finish: str = "") -> str:
    """Return what is wrong with a text as a summary, in a word or two; empty where nothing is.

    `finish` is the reason that the model's response ended with.
    """
    answer = text.strip()
    if not answer:
        return "summary was empty"
    if finish in ("content-filter", "content_filter", "refusal"):
        return "answer was filtered"
    # A text with a heading is a summary, whatever its first words are.
    if len(answer) <= REFUSAL_CHARS and "\n#" not in f"\n{answer}" and _REFUSES.match(answer):
        return "answer was a refusal"
    return ""


def static_summary(state: HudState, requests: Sequence[str] = (), *, shown: bool = False) -> str:
    """Return what a log knows of the work, as a summary with headings; empty where it knows nothing.

    `requests` are the user's last ones, oldest first (not given: the last that was recorded). `shown`: the HUD stands
    beside it, so that only what no section of the HUD says is told.
    """
    last_requests = list(requests) or ([state.session.request] if state.session.request else [])
    parts: list[tuple[str, list[str]]] = []
    if not shown:
        parts = [
            ("Task", [state.task.description] if state.task else []),
            ("Constraints", [constraint.text for constraint in state.constraints]),
            ("Preferences", [preference.text for preference in state.preferences]),
            ("Decisions", [decision.words for decision in state.decisions]),
            ("Open steps", [step.description for step in state.steps.open]),
            ("Open todos", [todo.content for todo in state.todos.open]),
            ("Blockers", [blocker.words for blocker in state.blockers]),
            ("Notes", [note.words for note in state.notes]),
            ("Files", [file.path for file in state.files.active]),
        ]
    resolved = [error.message for error in state.errors if error.resolved][-1:]
    failed = [error.message for error in state.errors.open][-1:]
    parts += [
        ("Last requests", last_requests[-MAX_REQUESTS:]),
        ("Done", [step.description for step in state.steps if step.completed]),
        ("Last error", failed if failed and not shown else [f"{message} (resolved)" for message in resolved]),
        ("Commits", [f"{commit.sha[:10]} {commit.subject}".strip() for commit in state.progress.recent_commits]),
    ]
    text = "\n\n".join(_part(title, lines) for title, lines in parts if lines)
    return text if len(text) <= MAX_STATIC_CHARS else text[:MAX_STATIC_CHARS].rsplit("\n", 1)[0]


def _part(title: str, lines: Iterable[str]) -> str:
    """Return a part of a summary: its title as a heading, and the newest of its lines, each cut to one line."""
    cut = [shorten(" ".join(line.split()), MAX_LINE_CHARS) for line in lines][-MAX_ITEMS:]
    return "\n".join((f"## {title}", *(f"- {line}" for line in cut)))
