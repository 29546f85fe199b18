"""Sessions with planted facts (`bench/recorder`): read from their files, told to the rules as a host tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hudkit.ingest import KnownFacts, derive_facts
from hudkit.log import Payload
from hudkit.log import payloads as p
from hudkit.transcripts import Message, SessionRow, TextPart, ToolPart

PLACE = Path(__file__).parent / "recorder"
DIRECTORY = "/home/u/project"
KINDS = ("constraint", "lifted", "decision", "replaced", "tests", "error", "fixed", "commit", "plan")
WORDS = ("constraint", "lifted", "decision", "replaced")
"""The kinds that are told in plain words; the others come from tools."""

_EXIT = re.compile(r"bash (\d+)$")


class Gold(msgspec.Struct, frozen=True):
    """A fact that a block plants: its kind and words that the derived item must contain; one that is not `sure` may
    be derived or not."""

    kind: str
    words: tuple[str, ...]
    sure: bool = True

    def fits(self, kind: str, text: str) -> bool:
        """Whether a derived item is this fact."""
        folded = text.casefold()
        return kind == self.kind and all(word in folded for word in self.words)


class Block(msgspec.Struct, frozen=True):
    """One message, and what it plants."""

    head: str
    text: str
    gold: tuple[Gold, ...]


OVER = ("lifted", "replaced")
"""The kinds of facts that end another one."""


def holding(blocks: Sequence[Block]) -> list[tuple[str, ...]]:
    """Return the words of each statement that a session makes for good and never takes back."""
    golds = [gold for block in blocks for gold in block.gold]
    over = {word for gold in golds if gold.kind in OVER for word in gold.words}
    return [gold.words for gold in golds if gold.sure and gold.kind in _FOR_GOOD and over.isdisjoint(gold.words)]


_FOR_GOOD = ("constraint", "decision", "preference")


def shapes(half: str) -> dict[str, tuple[Block, ...]]:
    """The sessions of a half (`development`, `held_out`) by name."""
    return {path.stem: read(path.read_text()) for path in sorted((PLACE / half).glob("*.md"))}


def read(text: str) -> tuple[Block, ...]:
    """The blocks of a session file."""
    found = []
    for chunk in re.split(r"(?m)^== ", text)[1:]:
        head, _, body = chunk.partition("\n")
        lines = body.splitlines()
        gold = tuple(_gold(line) for line in lines if line.startswith(("@@", "@?")))
        told = "\n".join(line for line in lines if not line.startswith(("@@", "@?"))).strip("\n")
        found.append(Block(head.strip(), told, gold))
    return tuple(found)


def _gold(line: str) -> Gold:
    kind, _, words = line[2:].partition(":")
    return Gold(kind.strip(), tuple(word.strip().casefold() for word in words.split(",")), line[1] == "@")


def messages(blocks: tuple[Block, ...], session: str = "ses_1") -> Iterator[Message]:
    """The blocks as a host's messages, in order."""
    for n, block in enumerate(blocks, 1):
        at = 1_770_000_000_000 + n * 60_000
        if block.head == "user":
            yield Message(f"m{n}", session, "user", at, parts=(TextPart(f"p{n}", block.text),))
        else:
            part = TextPart(f"p{n}", block.text) if block.head == "agent" else _tool(f"p{n}", block, at)
            yield Message(f"m{n}", session, "assistant", at, at + 5_000, finish="stop", parts=(part,))


def _tool(id: str, block: Block, at: int) -> ToolPart:
    kind, _, rest = block.head.partition(" ")
    exit_status = _EXIT.match(block.head)
    output, metadata, path = "", {}, f"{DIRECTORY}/{rest}"
    if exit_status:
        command, _, output = block.text.partition("\n")
        given: dict[str, object] = {"command": command.removeprefix("$ ")}
        metadata = {"exit": int(exit_status[1])}
    elif kind == "edit":
        old, _, new = block.text.partition("\n====\n")
        given = {"filePath": path, "oldString": old, "newString": new}
    else:
        given = {"filePath": path, "content": block.text} if kind == "write" else {"filePath": path}
        output = block.text if kind == "read" else "ok"
    return ToolPart(id, kind, f"call_{id}", "completed", given, output, metadata=metadata, start=at, end=at + 900)


def told(payload: Payload) -> Iterator[tuple[str, str]]:
    """What a payload says of the kinds that are measured."""
    match payload:
        case p.ConstraintAdd(text=text):
            yield "constraint", text
        case p.PreferenceAdd(text=text):
            yield "constraint", text
        case p.ConstraintRemove(text=text) | p.PreferenceRemove(text=text):
            yield "lifted", text
        case p.StatementDoubt(section="constraints" | "preferences", text=text, suspended=True):
            yield "lifted", text
        case p.DecisionRecord(summary=summary, replaces=replaces):
            yield "decision", summary
            yield from (("replaced", old) for old in replaces)
        case p.TestsRan(passed=passed, failed=failed):
            yield "tests", f"{passed} {failed}"
        case p.ErrorEncountered(message=message):
            yield "error", message
        case p.ErrorResolved(key=key):
            yield "fixed", key
        case p.CommitMade(sha=sha, subject=subject):
            yield "commit", f"{sha} {subject}"
        case p.PlanSync(path=path, points=points):
            yield "plan", f"{path} {sum(point.done for point in points)}/{len(points)}"


class Outcome(msgspec.Struct, frozen=True):
    """What became of the facts of one kind in one session: found, missed, and derived without being planted."""

    kind: str
    found: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


def judge(blocks: tuple[Block, ...]) -> tuple[Outcome, ...]:
    """Tell a session to the rules, block by block, and compare what each brings with its gold."""
    known, row = KnownFacts(), SessionRow("ses_1", "opencode", directory=DIRECTORY)
    tally: dict[str, tuple[list[str], list[str], list[str]]] = {kind: ([], [], []) for kind in KINDS}
    for block, message in zip(blocks, messages(blocks), strict=True):
        known, facts = derive_facts(row, message, known)
        left = list(block.gold)
        for kind, text in (pair for fact in facts for pair in told(fact.payload)):
            fitting = next((gold for gold in left if gold.fits(kind, text)), None)
            if fitting is None:
                tally[kind][2].append(text)
            else:
                left.remove(fitting)
                if fitting.sure:
                    tally[kind][0].append(text)
        for gold in left:
            if gold.sure:
                tally[gold.kind][1].append(f"{', '.join(gold.words)} <- {block.text[:90]!r}")
    return tuple(Outcome(kind, *map(tuple, tally[kind])) for kind in KINDS)
