"""The prompt by which a compaction continues the same agent: what to write down, and what need not be."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.compose import shorten, visible

HEADER = (
    "You are about to lose the older part of your own conversation. Write down what you need in order to go on with "
    "the same work. You have no tools here; answer with the text alone."
)
"""The system prompt of a compaction, where a host has none of its own."""

PARTS: tuple[tuple[str, str], ...] = (
    ("Goal", "what the user wants in the end, and why, as far as it was said"),
    ("Instructions", "rules and wishes of the user that still hold, each as close to their words as possible"),
    ("Discoveries", "what turned out on the way: causes, surprises, dead ends and why they were dead"),
    ("Accomplished", "what is finished, what is half done, and exactly where work stopped"),
    ("Relevant files", "paths that matter from here on, each with a word on what is in it or changed in it"),
    ("Notes", "anything else that would be missed: commands that worked, numbers, names, open questions"),
)
"""Titles of the summary's parts, in order, and what belongs into each."""


MOST_OVER = 40
"""Texts that are named as being over, the newest ones."""

LONGEST = 160
"""Characters of one of them."""


def prompt(hud: str, summary: str = "", over: Sequence[str] = ()) -> str:
    """The prompt of a compaction; `hud` is what the next frame will show, empty where nothing is recorded. `over` are
    texts that the conversation holds and that are no longer so: replaced, removed, done or resolved.

    `summary` is what the last compaction wrote: hosts leave it out of what they compact (OpenCode 1.18 does
    where a plugin sets the prompt), so it has to be carried on from here.
    """
    parts = "\n".join(f"## {title}\n({what})" for title, what in PARTS)
    kept = (
        "Your heads-up display is kept outside of this conversation. It stays as it is and will be in front of you "
        "after the compaction, so do not copy it; say what it does not say. This is what it will show:\n\n"
        f"<hud>\n{hud.strip()}\n</hud>\n\n"
        if hud.strip()
        else ""
    )
    ended = "".join(f"- {shorten(visible(text), LONGEST)}\n" for text in over[-MOST_OVER:])
    gone = (
        "These were replaced, removed, done or resolved since. Whatever the conversation says of them, do not write "
        f"them down as if they still held:\n\n<over>\n{ended}</over>\n\n"
        if ended
        else ""
    )
    before = (
        "What you wrote at the compaction before this one is not in the conversation above any more. Carry on what "
        f"of it still holds:\n\n<summary>\n{summary.strip()}\n</summary>\n\n"
        if summary.strip()
        else ""
    )
    return (
        "The conversation above is about to leave your window. You go on with the same work right after this, with "
        "only what you write down now. Write to yourself, in the first person, as someone who knows the work but has "
        "forgotten the conversation.\n\n"
        f"{kept}"
        f"{gone}"
        f"{before}"
        "Write these six parts, in this order, with these headings. Be specific: exact paths, names, values and "
        "error texts. Leave out what can be read again from the files. Write nothing before or after them; where "
        "a part has nothing, write a dash.\n\n"
        f"{parts}\n"
    )
