"""What holds after every abuse case: the oracles O1 to O5 and O7 of `cases.md`, as checks that a test calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from hudkit import Hud, HudSession
from hudkit.hud.frame import Frame

HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FIELDS = (
    ("task.set", "description"),
    ("constraints.add", "text"),
    ("blockers.add", "description"),
    ("steps.add", "description"),
    ("decisions.record", "summary"),
    ("errors.add", "message"),
    ("notes.add", "content"),
    ("files.edit", "path"),
)
"""Every operation by which a text comes into a section of its own, and the argument that has it."""


def outline(markdown: str) -> list[str]:
    """The headings of a text, and the kinds of its blocks that no HUD has."""
    tokens = PARSER.parse(markdown)
    headings = [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]
    foreign = ("fence", "html_block", "table_open", "blockquote_open", "hr")
    return [*headings, *(f"!{token.type}" for token in tokens if token.type in foreign)]


def fill(session: HudSession, text: str) -> None:
    """Record a text in every section."""
    for operation, argument in FIELDS:
        session.call(operation, {argument: text})


def check_frame(session: HudSession, **arguments: Any) -> Frame:
    """Check that a session's next frame is a HUD and nothing else (O1, O2, O3), and return it."""
    frame = session.frame(used_tokens=1_000, limit_tokens=200_000, **arguments)
    with Hud.in_memory() as plain:
        other = plain.session("ses_plain")
        other.start(title="plain", directory="/work")
        fill(other, "plain")
        other.call("project.add", {"kind": "notes", "text": "plain"})
        allowed = [heading.partition(" (")[0] for heading in outline(other.frame().text)]
    names = [heading.partition(" (")[0] for heading in outline(frame.base)]
    assert not [name for name in names if name not in allowed], names
    assert len(names) == len(set(names)), "each section stands once"
    assert names == sorted(names, key=allowed.index), "in the order of the document"
    assert frame.tokens <= frame.budget
    assert not HIDDEN.search(frame.text.replace("\n", "")), HIDDEN.search(frame.text)
    frame.text.encode()
    return frame


def check_log(hud: Hud) -> None:
    """Check that every session's events are numbered without a gap and that the chain verifies (O4)."""
    assert list(hud.log.verify()) == []
    for id in hud.log.sessions():
        assert [event.seq for event in hud.log.read(id)] == list(range(1, hud.log.last_seq(id) + 1))


def check_apart(frame: Frame, *words: str) -> None:
    """Check that nothing of another session is in a frame (O5)."""
    assert not [word for word in words if word in frame.text]


def check_refusal(text: str, *secrets: str) -> None:
    """Check that a refusal is short, names what was wrong, and holds no trace and no secret (O7)."""
    assert text and len(text) < 1_500, text
    assert "Traceback" not in text and 'File "' not in text
    assert not [secret for secret in secrets if secret in text]


def files_of(folder: Path) -> Mapping[str, bytes]:
    """The bytes of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
