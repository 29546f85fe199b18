"""Sixty requests of a user to a real small model: whether the call that it makes records what was asked.

These models make no call by themselves (the share that do is told), so the call is begun for them; they choose the
tool, the operation and the arguments. What a refusal says is sent back once, and what the second call does is judged,
too: it may mend, and it must not do harm.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.real_model.repeatable import repeatable_hud
from bench.real_model.server import ModelServer
from bench.retention.spoken import SYSTEM
from hudkit.api import Hud, HudSession
from hudkit.log.event import Event
from hudkit.tools import DEFINITIONS, is_operation_name, reply, resolve_operation
from hudkit.tools.call_parsing import parse_call

PROMPTS = Path(__file__).resolve().parents[1] / "tool_calls" / "prompts.md"
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
ITEMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("task.set", {"description": "Move the invoice export to the new billing service"}),
    ("constraints.add", {"text": "Never write to the production database from a script"}),
    ("constraints.add", {"text": "Keep the CSV column order as it is"}),
    ("blockers.add", {"description": "No credentials for the staging bucket"}),
    ("steps.add", {"description": "Map the old columns to the new fields"}),
    ("steps.add", {"description": "Write the upload client"}),
    ("steps.add", {"description": "Test with the accounts of March"}),
    ("steps.add", {"description": "Delete the old cron job"}),
    ("decisions.record", {"summary": "Amounts are stored as integer cents"}),
    ("decisions.record", {"summary": "Retry a failed upload three times"}),
    ("decisions.record", {"summary": "Use the queue of the platform team for exports"}),
    ("errors.add", {"message": "upload_test.py: test_large_file times out"}),
    ("notes.add", {"content": "The staging bucket is called acme-invoices-stg"}),
    ("notes.add", {"content": "Old exports are kept for 90 days"}),
    ("notes.add", {"content": "The finance contact is Marta"}),
)
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
    """What a call did: the verdict (`right`, `wrong`, `refused`), the call as the model wrote it, and the answer."""

    verdict: str
    written: str
    answer: str


def requests() -> list[Request]:
    """The sixty, in order."""
    found = []
    for part in PROMPTS.read_text("utf-8").split("== ")[1:]:
        text, *lines = part.strip().splitlines()
        answers: list[list[Expected]] = [[]]
        for line in lines:
            if line == "@@ or":
                answers.append([])
            else:
                answers[-1].append(_expected(line))
        found.append(Request(text, tuple(map(tuple, answers))))
    return found


def _expected(line: str) -> Expected:
    reads = line.startswith("@@ read ")
    match = _EVENT.match(line.replace("@@ read ", "@@ ", 1))
    assert match is not None, line
    words = [word.strip().casefold() for word in (match["words"] or "").split(",") if word.strip()]
    return Expected(match["type"], tuple([match["item"]] if match["item"] else []) + tuple(words), reads)


def measured(server: ModelServer) -> Iterator[tuple[Request, Attempt, Attempt | None, bool]]:
    """Each request, what the model's call did, what its second call did after a refusal, and whether the model would
    have made a call by itself."""
    for request in requests():
        with repeatable_hud() as hud:
            session = _session(hud)
            messages = [
                {"role": "system", "content": f"{SYSTEM}\n\n{session.frame().base}"},
                {"role": "user", "content": request.text},
            ]
            tools = [{"type": "function", "function": definition} for definition in (BASH, *DEFINITIONS)]
            prompt = server.prompt(messages, tools)
            unaided = server.complete(prompt, 8).lstrip().startswith("<tool_call>")
            first, second = _asked(server, session, request, prompt), None
            if first.verdict == "refused":
                told = f"{first.written}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n{first.answer}\n"
                second = _asked(
                    server, session, request, f"{prompt}{told}</tool_response><|im_end|>\n<|im_start|>assistant\n"
                )
            yield request, first, second, unaided


def _session(hud: Hud) -> HudSession:
    session = hud.session("requests")
    for operation, args in ITEMS:
        session.call(operation, args)
    return session


def _asked(server: ModelServer, session: HudSession, request: Request, prompt: str) -> Attempt:
    written = BEGUN + server.complete(prompt + BEGUN, MOST, ("</tool_call>", "<|im_end|>")).strip()
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
    fits = any(_fits(answer, events, routed[1]) for answer in request.answers)
    named = resolve_operation(*parse_call(routed[1]))
    if not fits and not events and named is not None and named.writes:
        return Attempt("refused", written, told.text)  # nothing was recorded, and the answer says so
    return Attempt("right" if fits else "wrong", written, told.text)


def _routed(name: str, arguments: Any) -> tuple[str, Any] | None:
    """The router of a call and what it is sent, as our own loop has it."""
    if name in ("hud", "memory"):
        return name, arguments
    if is_operation_name(name) and isinstance(arguments, Mapping):
        return "hud", {**arguments, "operation": name}
    return None


def _fits(answer: Sequence[Expected], events: Sequence[Event], arguments: Mapping[str, Any]) -> bool:
    """Whether a call did all that was asked, and nothing else."""
    if all(one.reads for one in answer):
        named = resolve_operation(*parse_call(arguments))
        told = json.dumps(arguments, ensure_ascii=False).casefold()
        return not events and any(
            named is not None and named.name == one.type and all(word in told for word in one.words) for one in answer
        )
    left = [
        (event.type, json.dumps(msgspec.to_builtins(event.payload), ensure_ascii=False).casefold())
        for event in events
    ]
    for one in answer:
        match = next((e for e in left if e[0] == one.type and all(word in e[1] for word in one.words)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def table(server: ModelServer) -> Counter[str]:
    """How many of the sixty calls were right, wrong, refused, mended by the refusal's words, and made unaided."""
    counts: Counter[str] = Counter()
    for _, first, second, unaided in measured(server):
        counts[first.verdict] += 1
        counts["unaided"] += unaided
        if second is not None:
            counts[f"second {second.verdict}"] += 1
    return counts
