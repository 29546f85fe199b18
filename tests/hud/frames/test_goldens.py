"""Frames as documents: each golden tells a session in operations and shows the frames that it gives.

Run with `--update-goldens` to write what is seen; then read it as the agent would.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import PAYLOADS, Origin
from hudkit.tokens import count_tokens

GOLDENS = sorted((Path(__file__).parent / "goldens").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def run(session: HudSession, lines: str) -> None:
    """One line is one operation, or (`!origin type {…}`) one event as a host would append it."""
    for line in filter(None, map(str.strip, lines.splitlines())):
        if line.startswith("!"):
            origin, kind, body = line[1:].split(" ", 2)
            payload = msgspec.convert({"type": kind, **json.loads(body)}, PAYLOADS[kind])
            session.append(payload, origin=Origin(origin))
        else:
            name, _, body = line.partition(" ")
            session.call(name, json.loads(body or "{}"))


def shape(frame_args: str) -> dict[str, object]:
    return {key: json.loads(value) for key, value in re.findall(r"(\w+)=(\[.*?\]\]|\S+)", frame_args)}


def replayed(text: str, hud: Hud) -> str:
    session = hud.session("ses_golden")

    def answer(match: re.Match[str]) -> str:
        kind, arguments, body = match.groups()
        if kind == "session":
            run(session, body)
            return match.group()
        frame = session.frame(**shape(arguments))  # type: ignore[arg-type]
        assert frame.tokens == count_tokens(frame.text) <= frame.budget
        assert session.frame_at(session.state.seq) == frame
        body = frame.text + "".join(f"(left out: {one.path}, {one.tokens} tokens)\n" for one in frame.omitted)
        return f"```frame{arguments}\n{body}```\n"

    return BLOCK.sub(answer, text)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_golden(path: Path, hud: Hud, request: pytest.FixtureRequest) -> None:
    expected = path.read_text()
    seen = replayed(expected, hud)
    if request.config.getoption("--update-goldens"):
        path.write_text(seen)
    assert seen == expected, f"{path.name} differs; look at it, then run with --update-goldens"


def test_there_are_goldens() -> None:
    assert len(GOLDENS) >= 6
