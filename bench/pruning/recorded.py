"""What agents still needed of what pruning takes away, on recorded sessions.

`python -m bench.pruning.recorded [FILE …]`: OpenCode databases; without any, the recorded day of `hudkit demo`.

**The idea.** A recording was made with all outputs in the window, so that nobody had to ask for one again. But it
shows when one was needed: a later call asks for the very same and gets the very same, or later words, edits and
commands have a line that stood in this output and nowhere else in the window. For each rule, outputs leave as early
as it lets them, in a window that the session fills at its end, and without asking for a price. So it is the most that
each rule could take away, and the share of it that was needed afterwards.

**Example.** An output of `grep` has the line `def settle(invoice, rate, *, at):`. It is taken away before call 40.
Call 52 edits a file, and what it replaces has that line, which nothing else shows: the agent would have had to ask.

What it cannot say: whether the agent would have asked, or guessed; and what is needed without being quoted.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hudkit.cli.demo import unpack_orchard
from hudkit.context.compaction.pruning import PruneBounds, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs
from hudkit.ingest.tool_calls import edited_paths, finished_call, read_path
from hudkit.sections.call_history import FileUse
from hudkit.transcripts import Message, OpenCodeTranscript, TextPart, ToolPart

QUOTED_CHARACTERS = 24
"""Characters from which a line is taken for a quotation and not for a turn of phrase."""

CHARACTERS_PER_TOKEN = 4
_LINE_NUMBER = re.compile(r"^\s*\d+\s*[|:\t→]\s?")


class Rule(NamedTuple):
    """Which outputs may go: with what protects the work, and from which share of the window on (percent)."""

    protects: bool
    min_used_percent: float


BY_AGE, OURS = "by age alone: only the end of the transcript stays", "what the work needs stays, from half on (ours)"
RULES = {
    BY_AGE: Rule(False, 0),
    "by age alone, from half of the window on": Rule(False, 50),
    "what the work needs stays": Rule(True, 0),
    OURS: Rule(True, 50),
}


class Tally(NamedTuple):
    """Outputs of a session, those that went, those of them that were needed afterwards; and the tools of these."""

    outputs: int
    pruned: int
    needed: int
    tools: tuple[str, ...]


def tally(messages: Sequence[Message], directory: str, rule: Rule) -> Tally:
    """What a rule takes away in one session, and what of it was needed afterwards."""
    parts = {part.call_id: part for message in messages for part in message.parts if isinstance(part, ToolPart)}
    window = sum(map(_size, messages)) // CHARACTERS_PER_TOKEN
    bounds = prune_bounds(window, None, 1, rule.min_used_percent)
    gone: dict[str, ToolPart] = {}
    needed: dict[str, str] = {}
    for place, message in enumerate(messages):
        if message.role == "assistant":
            in_window = _lines_in_window(messages[:place], gone)
            for call, part in gone.items():
                if call not in needed and _needs(message, part, in_window):
                    needed[call] = part.tool
        for call in _may_go(messages[: place + 1], directory, rule, bounds, gone):
            gone[call] = parts[call]
    return Tally(len(parts), len(gone), len(needed), tuple(needed.values()))


def _may_go(
    messages: Sequence[Message], directory: str, rule: Rule, bounds: PruneBounds, gone: dict[str, ToolPart]
) -> list[str]:
    """The calls whose outputs the rule lets go now."""
    used = sum(map(_size, messages)) - sum(len(part.output) for part in gone.values())
    if used / CHARACTERS_PER_TOKEN < bounds.min_used:
        return []
    outputs = locate_outputs([_outputs(message) for message in messages])
    uses: tuple[FileUse, ...] = ()
    if rule.protects:
        uses = tuple(use for message in messages for use in _uses(message, directory))
    else:
        outputs = tuple(CallOutput(one.call, "", one.size, one.behind, one.blocks, 99) for one in outputs)
    return [one.call for one in prune_candidates(outputs, gone, bounds, uses=uses)]


def _needs(message: Message, part: ToolPart, in_window: Counter[str]) -> bool:
    """Whether a response asks for an output again, or has a line of it that nothing in the window has."""
    for own in _calls(message):
        if (own.tool, own.input, own.output) == (part.tool, part.input, part.output):
            return True
    said = _words(message)
    return any(line in said and not in_window[line] for line in _lines(part.output))


def _lines_in_window(messages: Sequence[Message], gone: dict[str, ToolPart]) -> Counter[str]:
    found: Counter[str] = Counter()
    for message in messages:
        found.update(_lines(_words(message)))
        for part in _calls(message):
            if part.call_id not in gone:
                found.update(_lines(part.output))
    return found


def _lines(text: str) -> set[str]:
    lines = (_LINE_NUMBER.sub("", line).strip() for line in text.splitlines())
    return {line for line in lines if len(line) >= QUOTED_CHARACTERS}


def _words(message: Message) -> str:
    """What a message says itself: its texts, and what its calls are given."""
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    return "\n".join([*texts, *(text for part in _calls(message) for text in _texts(part.input))])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _calls(message: Message) -> list[ToolPart]:
    return [part for part in message.parts if isinstance(part, ToolPart) and part.done]


def _size(message: Message) -> int:
    return len(_words(message)) + sum(len(part.output) for part in _calls(message))


def _outputs(message: Message) -> MessageOutputs:
    sizes = [(part.call_id, part.tool, len(part.output)) for part in _calls(message)]
    return MessageOutputs(_size(message), sizes, prompt=message.role == "user")


def _uses(message: Message, directory: str) -> Iterator[FileUse]:
    for part in _calls(message):
        call = finished_call(part)
        if path := read_path(call, directory):
            yield FileUse(path, call.id, call.part)
        yield from map(FileUse, edited_paths(call, directory))


def recorded(database: Path) -> dict[str, list[Tally]]:
    """The tallies of each rule over the sessions of a database that have outputs; forks, which repeat one, are left
    out."""
    found: dict[str, list[Tally]] = {name: [] for name in RULES}
    with OpenCodeTranscript.open(database) as transcript:
        for row in transcript.sessions():
            messages = list(transcript.messages(row.id)) if "(fork" not in row.title else []
            if any(map(_calls, messages)):
                for name, rule in RULES.items():
                    found[name].append(tally(messages, row.directory, rule))
    return found


def main(paths: Sequence[str]) -> None:
    with TemporaryDirectory() as folder:
        databases = [Path(path) for path in paths] or [unpack_orchard(folder)]
        for name in RULES:
            tallies = [each for database in databases for each in recorded(database)[name]]
            outputs, pruned, needed = (sum(getattr(each, field) for each in tallies) for field in Tally._fields[:3])
            tools = json.dumps(Counter(tool for each in tallies for tool in each.tools))
            share = needed / max(1, pruned)
            print(
                f"{name}: {pruned} of {outputs} outputs went, {needed} ({share:.0%}) were needed afterwards {tools}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
