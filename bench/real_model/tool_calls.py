"""Sixty requests of a user to a real small model: whether the call that it makes records what was asked.

These models make no call by themselves (0 of 60, three times), so the call is begun for them; they choose the tool,
the operation and the arguments. What a refusal says is sent back once, and what the second call does is judged,
too: it may mend, and it must not do harm.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from bench.real_model.repeatable import repeatable_hud
from bench.real_model.server import ModelServer
from bench.retention.spoken import SYSTEM
from hudkit.api import Hud, HudSession
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import SessionStart
from hudkit.tools import DEFINITIONS, is_operation_name, reply
from hudkit.tools.operation import find_operation

PROMPTS = Path(__file__).resolve().parents[1] / "tool_calls" / "prompts.md"
DEVELOPMENT = PROMPTS.with_name("development.md")
MODEL, WINDOW = "qwen2.5-coder-1.5b-instruct", 32_768
"""As a host names the model, and its window."""
BEGUN = '<tool_call>\n{"name": "'
"""The beginning of a call in Qwen's template."""
MOST = 160
"""Tokens of an answer."""

BASH: dict[str, Any] = {
    "name": "bash",
    "description": "Runs a command in the project's directory and returns its output.",
    "parameters": {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command."}},
        "required": ["command"],
    },
}
_EVENT = re.compile(r"^@@ (?P<type>[\w.]+)(?: (?P<item>\w+))?(?:: (?P<words>.*))?$")


class Expected(msgspec.Struct, frozen=True):
    """An event that a request must bring, or an operation that it must read with."""

    type: str
    words: tuple[str, ...]
    reads: bool = False


class Request(msgspec.Struct, frozen=True):
    """What the user says, and the answers that are right: any one of them."""

    text: str
    answers: tuple[tuple[Expected, ...], ...]


class Attempt(msgspec.Struct, frozen=True):
    """What a call did: the verdict, the call as the model wrote it, and the answer.

    Verdicts are `right`, `refused`, `half` (what was recorded is right, and something that was asked for is missing)
    and `wrong`; `harms` where it is wrong and recorded something, so that it did more than read.
    """

    verdict: str
    written: str
    answer: str
    harms: bool = False


def requests(file: Path = PROMPTS) -> list[Request]:
    """The requests of a file, in order."""
    found = []
    for part in file.read_text("utf-8").split("== ")[1:]:
        text, *lines = part.strip().splitlines()
        answers: list[list[Expected]] = [[]]
        for line in lines:
            if line == "@@ or":
                answers.append([])
            else:
                answers[-1] += _expected(line)
        found.append(Request(text, tuple(map(tuple, answers))))
    return found


def _expected(line: str) -> list[Expected]:
    reads = line.startswith("@@ read ")
    match = _EVENT.match(line.replace("@@ read ", "@@ ", 1))
    assert match is not None, line
    words = [word.strip().casefold() for word in (match["words"] or "").split(",") if word.strip()]
    item = (match["item"],) if match["item"] else ()
    # A decision that replaces another is two events: the other's id stands in the one, its own words in the other.
    if match["type"] == "decision.supersede" and item and words:
        return [Expected("decision.supersede", item), Expected("decision.record", tuple(words))]
    return [Expected(match["type"], (*item, *words), reads)]


def session_items(file: Path = PROMPTS) -> list[tuple[str, str]]:
    """What the session holds in which the requests are asked: operations and their texts, `* steps.add: …`."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("* ")]
    return [(operation, text) for operation, _, text in (line[2:].partition(": ") for line in lines)]


def measured(
    server: ModelServer, file: Path = PROMPTS, answers: Path | None = None
) -> Iterator[tuple[Request, Attempt, Attempt | None]]:
    """Each request, what the model's call did, and what its second call did after a refusal.

    What the model wrote is kept in `answers`, a row a request, and not asked again for the same prompt.
    """
    rows = _read_rows(answers)
    for request in requests(file):
        with repeatable_hud() as hud:
            session = _session(hud, session_items(file))
            frame = session.frame(1_000, WINDOW, model=MODEL)
            messages = [
                {"role": "system", "content": f"{SYSTEM}\n\n{frame.base}"},
                {"role": "user", "content": request.text},
            ]
            tools = [{"type": "function", "function": definition} for definition in (BASH, *DEFINITIONS)]
            prompt = server.prompt(messages, tools)
            key = sha256(prompt.encode()).hexdigest()
            row = rows.get(key, [])
            written = row[0] if row else _written(server, prompt)
            # as every host records it with the call
            session.append(SessionStart(request=request.text), origin=Origin.HOST)
            first, second, again = judged(session, request, written), None, ""
            if first.verdict == "refused":
                told = f"{first.written}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n{first.answer}\n"
                told += "</tool_response><|im_end|>\n<|im_start|>assistant\n"
                again = row[2] if row and row[1] == first.answer else _written(server, prompt + told)
                second = judged(session, request, again)
            if answers is not None and row != (kept := [written, first.answer, again]):
                with answers.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([key, *kept], ensure_ascii=False) + "\n")
            yield request, first, second


def _read_rows(file: Path | None) -> dict[str, list[str]]:
    """By prompt, what the model wrote first, what it was told, and what it wrote after a refusal (else empty)."""
    if file is None or not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {key: row for key, *row in rows}


def _session(hud: Hud, items: Sequence[tuple[str, str]]) -> HudSession:
    session = hud.session("requests")
    for operation, text in items:
        assert session.tool("hud", {"operation": operation, "text": text}).startswith(("Added", "Set", "Recorded"))
    return session


def _written(server: ModelServer, prompt: str) -> str:
    return BEGUN + server.complete(prompt + BEGUN, MOST, ("</tool_call>", "<|im_end|>")).strip()


def judged(session: HudSession, request: Request, written: str) -> Attempt:
    """What a call does that the model has written."""
    before = session.state.seq
    try:
        call = json.loads(written.removeprefix("<tool_call>"))
        name, arguments = str(call["name"]), dict(call.get("arguments") or {})
    except (ValueError, KeyError, AttributeError, TypeError):
        return Attempt("refused", written, "the call is not JSON")
    routed = _routed(name, arguments)
    if routed is None:
        return Attempt("refused", written, f"there is no tool {name!r} here")
    told = reply(session, *routed)
    if not told.ok:
        return Attempt("refused", written, told.text)
    events = [event for event in session.events() if event.seq > before and event.origin == "agent"]
    left = [_missing(answer, events, routed[1], told.operation) for answer in request.answers]
    if [] in left:
        return Attempt("right", written, told.text)
    carried_out = find_operation(told.operation)
    if not events and carried_out is not None and carried_out.writes:
        return Attempt("refused", written, told.text)  # nothing was recorded, and the answer says so
    verdict = "half" if any(left) else "wrong"
    return Attempt(verdict, written, told.text, harms=verdict == "wrong" and bool(events))


def _routed(name: str, arguments: Any) -> tuple[str, Any] | None:
    """The router of a call and what it is sent, as our own loop has it."""
    if name in ("hud", "memory"):
        return name, arguments
    if is_operation_name(name) and isinstance(arguments, Mapping):
        return "hud", {**arguments, "operation": name}
    return None


def _missing(
    answer: Sequence[Expected], events: Sequence[Event], arguments: Mapping[str, Any], operation: str
) -> list[Expected] | None:
    """What a call did not do of all that was asked; `None` where it did something else, or nothing of it."""
    if all(one.reads for one in answer):
        told = json.dumps(arguments, ensure_ascii=False).casefold()
        is_read = not events and any(
            operation == one.type and all(word in told for word in one.words) for one in answer
        )
        return [] if is_read else None
    left = [
        (event.type, json.dumps(msgspec.to_builtins(event.payload), ensure_ascii=False).casefold())
        for event in events
    ]
    missing = []
    for one in answer:
        match = next((e for e in left if e[0] == one.type and all(word in e[1] for word in one.words)), None)
        if match is None:
            missing.append(one)
        else:
            left.remove(match)
    return None if left or len(missing) == len(answer) else missing


def table(server: ModelServer, file: Path = PROMPTS, answers: Path | None = None) -> Counter[str]:
    """How many of the calls were right, half, wrong and refused, what the second call after a refusal was, and how
    many of both did harm."""
    counts: Counter[str] = Counter()
    for _, first, second in measured(server, file, answers):
        counts[first.verdict] += 1
        counts["harm"] += first.harms
        if second is not None:
            counts[f"second {second.verdict}"] += 1
            counts["second harm"] += second.harms
    return counts
