"""A long session of a coding agent on an invented billing service, in real OpenCode: 24 modules, 12 turns of the
user, 111 calls of the model; and its requests as they would have been without the HUD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from opencode_host import OpenCode
from opencode_workspace import PROVIDER

from hudkit.api import Hud
from hudkit.log.payloads import ContextSnapshot, FrameBase, FrameDelta
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.model_server import SHAPES, ScriptedModel

MODULES = (
    *("accounts", "addresses", "audit", "cards", "charges", "credits", "currency", "customers"),
    *("discounts", "dunning", "exchange", "invoices", "ledger", "limits", "mail", "payouts"),
    *("plans", "proration", "refunds", "reports", "rounding", "taxes", "usage", "webhooks"),
)
PROMPTS = (
    "Our billing service must get multi-currency invoices. Look around first; never use floats for money.",
    "Now the currency on each invoice.",
    "Snapshot the exchange rate when an invoice is made, not when it is paid.",
    "Refunds must use the rate of their invoice. Keep the old signatures, others call them.",
    "Now proration and discounts.",
    "The taxes of an invoice are in its own currency, please.",
    "What about the ledger? Every entry needs both amounts.",
    "Payouts next; they stay in euros.",
    "Dunning mails have to name the currency.",
    "Reports: group by currency, no conversion.",
    "Webhooks tell amounts in minor units.",
    "Go over all of it once more and clean up.",
)
CALLS = 9
"""Calls of a turn; the fourth, the eighth and the twelfth have one more: 111 in all."""

LIMIT = (200_000, 8_000)
"""The model's context and output: half of it is in use before the end, and no compaction comes."""

SWITCHED = 10
"""The turn at which the user takes another model: its cache has nothing of the session."""

NOTED = (
    ("decisions.record", {"summary": "Amounts are Decimal with the currency beside them, never float"}),
    ("steps.add", {"description": "Migrate stored invoices in batches of 500"}),
    ("decisions.record", {"summary": "The exchange rate is taken when the invoice is made"}),
    ("notes.add", {"content": "refunds.py is called by the shop over RPC: its signatures stay"}),
    ("steps.add", {"description": "Proration by day, rounded at the end only"}),
    ("decisions.record", {"summary": "Taxes are computed per line and summed"}),
    ("notes.add", {"content": "ledger entries are append-only; corrections are entries of their own"}),
    ("decisions.record", {"summary": "Payouts stay in euros and go over exchange.py"}),
    ("notes.add", {"content": "mail templates are cached for an hour by the gateway"}),
    ("decisions.record", {"summary": "Reports never convert, they group"}),
    ("steps.add", {"description": "Tell the partners about minor units in webhooks"}),
    ("notes.add", {"content": "the suite takes four minutes with the database on"}),
)


def calls_of_turn(turn: int) -> int:
    return CALLS + (turn % 4 == 3)


def _module(name: str, number: int) -> str:
    lines = [f'"""{name.title()} of the billing service."""', "", f"VERSION_{name.upper()} = 1", ""]
    for n in range(12 + 7 * (number % 5)):
        lines += [
            f"def {name}_{n}(amount: Decimal, currency: str, *, at: date | None = None) -> Decimal:",
            f'    """Return the part {n} of {name} of an amount, in its currency."""',
            f"    return quantize(amount * RATES_{name.upper()}[{n}], currency, at or today())",
            "",
        ]
    return "\n".join(lines)


FILES = {f"billing/{name}.py": _module(name, number) for number, name in enumerate(MODULES)}


def _suite(turn: int, passed: int, failed: bool) -> ScriptedCall:
    """A run of the tests, with a line each."""
    line = f'for n in $(seq 1 {passed}); do echo "tests/test_billing_{turn}.py::test_case_$n PASSED"; done'
    end = "echo '1 failed, 40 passed in 0.41s'; exit 1" if failed else "echo '41 passed in 0.40s'"
    return ScriptedCall("bash", {"command": f"{line}; {end}", "description": "tests"})


def _turn(project: Path, turn: int) -> Iterator[ScriptedReply]:
    def path(number: int) -> str:
        return str(project / "billing" / f"{MODULES[number % len(MODULES)]}.py")

    def edit(number: int, new: int) -> ScriptedCall:
        name = f"VERSION_{MODULES[number].upper()} = "
        return ScriptedCall("edit", {"filePath": path(number), "oldString": f"{name}1", "newString": f"{name}{new}"})

    first, second = 2 * turn, 2 * turn + 1
    operation, arguments = NOTED[turn]
    todos = [
        {"content": prompt[:40], "status": "completed" if n < turn else "pending", "priority": "high", "id": str(n)}
        for n, prompt in enumerate(PROMPTS)
    ]
    yield uses(*(ScriptedCall("read", {"filePath": path(n)}) for n in (first, second)), text="Reading both modules.")
    noting = [_hud("task.set", description="Multi-currency invoices in the billing service")] if not turn else []
    yield uses(*noting, _suite(turn, 40, turn % 3 == 1), text="What do the tests say?")
    yield uses(ScriptedCall("read", {"filePath": path(first - 5)}), text="That one again, for its callers.")
    yield uses(edit(first, turn + 2), ScriptedCall("todowrite", {"todos": todos}), text="Changing the first.")
    yield uses(_hud(operation, **arguments), _suite(turn, 80, turn % 3 == 1), text="Noted, and the tests again.")
    search = f'for n in $(seq 1 80); do echo "billing/{MODULES[first]}.py:$n: amount, currency = split($n)"; done'
    yield uses(ScriptedCall("bash", {"command": search, "description": "callers"}), text="Who calls it?")
    yield uses(edit(second, turn + 2), text="The second, too.")
    yield uses(_suite(turn, 50, False), text="Once more.")
    if calls_of_turn(turn) > CALLS:
        yield uses(ScriptedCall("bash", {"command": f"seq 1 {50 + turn}", "description": "log"}), text="The log.")
    yield says(f"Part {turn} is done: both modules carry the currency, and the tests pass. " * 4)


def _hud(operation: str, **arguments: str) -> ScriptedCall:
    return ScriptedCall("hud", {"tool": operation, "args": arguments})


def lived(host: OpenCode, model: ScriptedModel, turns: int, models: tuple[str, str]) -> list[CapturedRequest]:
    """The chat calls of so many turns, as they reached the model. The host was made with `FILES` and `LIMIT`, and is
    serving afterwards. The user goes on with the second of the models at the turn `SWITCHED`."""
    host.serve()
    session = host.create("billing")
    model.requests.clear()
    for turn in range(turns):
        model.play(*_turn(host.project, turn))
        name = {"providerID": PROVIDER, "modelID": models[turn >= SWITCHED]}
        host.prompt(session, PROMPTS[turn], model=name)
    assert model.left == 0
    assert len(model.chats) == sum(map(calls_of_turn, range(turns)))
    return model.chats


# -- the same requests without the HUD -------------------------------------------------------------------------


def layers_of(db: Path) -> tuple[str, ...]:
    """The texts of all layers that the log's only session has had, the longest first."""
    with Hud.open(db) as hud:
        (name,) = hud.sessions()
        texts = set()
        for event in hud.session(name).events():
            match event.payload:
                case FrameBase(text=text) | FrameDelta(text=text):
                    texts.add(text.strip())
                case ContextSnapshot(call=call) if call is not None:
                    texts.add(call.tail.strip())
    return tuple(sorted(texts - {""}, key=len, reverse=True))


def without_hud(chat: CapturedRequest, layers: Sequence[str], *, tools: bool) -> CapturedRequest:
    """The request without the HUD's layers; with `tools` also without our tools, their calls and the answers."""
    body = msgspec.json.decode(msgspec.json.encode(chat.body))
    own: set[str] = set()
    if tools:
        body["tools"] = [tool for tool in body["tools"] if not _is_ours((tool.get("function") or tool)["name"])]
        own = set(_own_calls(body["messages"]))
    if isinstance(body.get("system"), list):
        body["system"] = _without_texts(body["system"], layers, own)
    for message in body["messages"]:
        message["content"] = _without_texts(message.get("content"), layers, own)
        if message.get("tool_calls"):
            message["tool_calls"] = [call for call in message["tool_calls"] if call["id"] not in own]
    body["messages"] = [message for message in body["messages"] if message.get("tool_call_id") not in own]
    pieces = tuple(SHAPES[chat.shape].pieces(body))
    left = "\n".join(piece.text for piece in pieces)
    assert not any(layer in left for layer in layers) and "[hud " not in left
    return msgspec.structs.replace(chat, body=body, pieces=pieces)


def _is_ours(name: str) -> bool:
    return name.startswith(("hud", "memory"))


def _own_calls(messages: Sequence[Any]) -> Iterator[str]:
    """The ids of the calls of our tools, in either shape."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            if _is_ours(call["function"]["name"]):
                yield call["id"]
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] == "tool_use" and _is_ours(part["name"]):
                yield part["id"]


def _without_texts(content: Any, layers: Sequence[str], own: set[str]) -> Any:
    """A content without the layers and without the calls and results in `own`; the breakpoint of a part that is gone
    goes to the one before it."""
    if isinstance(content, str):
        for layer in layers:
            content = content.replace(f"\n\n{layer}", "").replace(layer, "")
        return content
    if not isinstance(content, list):
        return content
    parts: list[dict[str, Any]] = []
    for part in content:
        name = "content" if part["type"] == "tool_result" else "text"
        if name in part:
            part = {**part, name: _without_texts(part[name], layers, own)}
        gone = (
            part.get("id") in own
            or part.get("tool_use_id") in own
            or (part["type"] == "text" and not part["text"].strip())
        )
        if not gone:
            parts.append(part)
        elif "cache_control" in part and parts:
            parts[-1] = {**parts[-1], "cache_control": part["cache_control"]}
    return parts
