"""Frames as documents: each golden tells a session in operations and shows the frames that it gives.

Run with `--update-goldens` to write what is seen; then read it as the agent would.

Five of them are lives: a coding day, a support desk, data work, a long research and a local model with a small
window, each at its start, in the middle, under pressure and after a compaction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import PAYLOADS, Origin
from hudkit.tokens import count_tokens

GOLDENS = sorted((Path(__file__).parent / "goldens").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


MOST_LEFT_OUT = 12
LIVES = ("coding_day", "support_desk", "data_work", "long_research", "local_16k")
SEQ = re.compile(r"\{seq: ([^}]+)\}")
REPEATED = re.compile(r"^\*(\d+) (.*)")


def run(session: HudSession, lines: str) -> None:
    """One line is one operation, or one event as a host would append it (`!origin type {…}`), or one message that is
    ingested (`@{…}`); `*3 …` is a line three times, with 1, 2 and 3 for `{n}`. `{seq: words}` is the first event
    whose payload has the words."""
    for line in unrolled(lines):
        line = SEQ.sub(lambda match: str(seq_of(session, match[1])), line)
        if line.startswith("!"):
            origin, kind, body = line[1:].split(" ", 2)
            payload = msgspec.convert({"type": kind, **json.loads(body)}, PAYLOADS[kind])
            session.append(payload, origin=Origin(origin))
        elif line.startswith("@"):
            session.ingest([json.loads(line[1:])])
        else:
            name, _, body = line.partition(" ")
            session.call(name, json.loads(body or "{}"))


def seq_of(session: HudSession, words: str) -> int:
    return next(event.seq for event in session.events() if words in msgspec.json.encode(event.payload).decode())


def unrolled(lines: str) -> Iterator[str]:
    for line in filter(None, map(str.strip, lines.splitlines())):
        repeated = REPEATED.match(line)
        if repeated is None:
            yield line
        else:
            yield from (repeated[2].replace("{n}", str(n)) for n in range(1, int(repeated[1]) + 1))


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
        left_out = [f"(left out: {one.path}, {one.tokens} tokens)" for one in frame.omitted]
        if len(left_out) > MOST_LEFT_OUT:
            left_out[MOST_LEFT_OUT:] = [f"(left out: {len(left_out) - MOST_LEFT_OUT} more)"]
        notes = [f"({frame.tokens} of {frame.budget} tokens)", *left_out]
        body = frame.text + "".join(f"{note}\n" for note in notes)
        return f"```frame{arguments}\n{body}```\n"

    return BLOCK.sub(answer, text)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_golden(path: Path, hud: Hud, request: pytest.FixtureRequest) -> None:
    expected = path.read_text()
    seen = replayed(expected, hud)
    if request.config.getoption("--update-goldens"):
        path.write_text(seen)
    assert seen == expected, f"{path.name} differs; look at it, then run with --update-goldens"


def test_each_life_has_four_frames_at_least() -> None:
    frames = {path.stem: [kind for kind, *_ in BLOCK.findall(path.read_text())].count("frame") for path in GOLDENS}
    assert all(frames.get(life, 0) >= 4 for life in LIVES), frames
