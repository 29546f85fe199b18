"""What the HUD costs in real Codex: requests that begin with the one before, and the price of a day of coding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from codex_host import MODEL, SCRIPTS, Codex

from campaigns import Campaign
from conftest import Codexes
from hudkit import Hud
from hudkit.context.caching import OPENAI, CacheRequest, simulate_cache, sum_costs, usd_cost
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import kept_bases, prefix_breaks
from hudkit.testing.host_conformance import INSTRUCTIONS
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

PREFIX_TURNS = Campaign("codex-prefix", quick=6, full=60)
"""Turns of six calls, with two new processes, a compaction and parallel tools."""

COST_TURNS = Campaign("codex-cost", quick=7, full=20)
"""Turns of six calls that are priced."""

MOST = {7: 1.045, 20: 1.03}
"""What so many turns may cost at most, as a multiple of the same without the HUD."""

PART = "".join(f"line {n}: {'x' * 40}\n" for n in range(110))
PRICES = "gpt-5"


def steps(model: str, *calls: ScriptedCall, text: str = "") -> ScriptedReply:
    """A response with these calls: in a script, where the model calls its tools so."""
    if model != SCRIPTS:
        return uses(*calls, text=text)
    names = {"hud": "mcp__hudkit__hud"}
    run = (f"tools.{names.get(call.name, call.name)}({call.text})" for call in calls)
    script = f"for (const done of await Promise.all([{', '.join(run)}])) text(done.output ?? done.content[0].text)"
    return uses(ScriptedCall("exec", script), text=text)


def run(command: str) -> ScriptedCall:
    return ScriptedCall("exec_command", {"cmd": command})


def turn(model: str, number: int, *, hud: bool) -> list[ScriptedReply]:
    """Six responses; without the HUD, a command stands for what the agent would note down."""
    words = {"operation": "task.set", "text": "Port the report to the new API"}
    if number:
        words = {"operation": "decisions.record", "text": f"Column {number} stays, finance reads it by position"}
    note = ScriptedCall("hud", words) if hud else run(f"echo noted {number}")
    patch = f"*** Begin Patch\n*** Add File: out_{number}.txt\n+row {number}\n*** End Patch"
    write = run(f"apply_patch <<'EOF'\n{patch}\nEOF") if model != SCRIPTS else run(f"echo row > out_{number}.txt")
    return [
        steps(model, run(f"cat part_{number % 4}.txt"), run("ls"), text=f"Reading part {number}."),
        steps(model, run(f"echo checking {number} && seq 1 60")),
        steps(model, note),
        steps(model, write),
        steps(model, run(f"echo test {number}; exit {number % 3 == 1:d}")),
        says(f"Turn {number} is done: the part is ported and checked. " * 8),
    ]


def laid_out(host: Codex) -> Codex:
    for number in range(4):
        (host.project / f"part_{number}.txt").write_text(PART)
    (host.project / "AGENTS.md").write_text(INSTRUCTIONS)
    return host


@PREFIX_TURNS
@pytest.mark.parametrize("model_name", [MODEL, SCRIPTS])
def test_a_request_begins_with_the_one_before_but_at_a_compaction(
    codex: Codexes, model: ScriptedModel, model_name: str
) -> None:
    host = laid_out(codex(model=model_name))
    turns = PREFIX_TURNS.rounds
    session = ""
    model.compaction = says("The report is being ported.")
    for part in range(3):  # three processes
        with host.serve() as server:
            session = server.resume(session) if session else server.begin()
            for number in range(part * turns // 3, (part + 1) * turns // 3):
                model.play(*turn(model_name, number, hud=True))
                server.say(session, f"Now part {number}, please; keep the columns as they are.")
                if number == turns // 2:
                    server.compact(session)
    chats = model.chats
    assert len(chats) == 6 * turns
    split = next(n for n, chat in enumerate(chats) if "The report is being ported." in chat.text)
    assert prefix_breaks(chats[:split]) == [] and prefix_breaks(chats[split:]) == []
    bases = {len([base for base in kept_bases(chat) if not base.startswith("This takes")]) for chat in chats}
    assert bases == {1}
    assert len(host.state(session).decisions) == turns - 1


@COST_TURNS
@pytest.mark.parametrize("model_name", [MODEL, SCRIPTS])
def test_a_day_costs_little_more_than_without_the_hud(
    codex: Codexes, model: ScriptedModel, model_name: str, record_property: pytest.RecordProperty
) -> None:
    """Beside it a hook as one would write it first: it prints the whole HUD each time."""
    turns = COST_TURNS.rounds
    sent: dict[str, list[CacheRequest]] = {}
    wholes: list[str] = []
    for kind in ("without", "with", "naive"):
        host = laid_out(codex(hud=kind == "with", model=model_name))
        if kind == "naive":
            _print_each_time(host)
        first = len(model.chats)
        with host.serve() as server:
            session = server.begin()
            for number in range(turns):
                if kind == "naive":
                    _to_be_printed(host, wholes[number])
                model.play(*turn(model_name, number, hud=kind == "with"))
                server.say(session, f"Now part {number}, please; keep the columns as they are.")
                if kind == "with":
                    wholes.append(_whole(host, session))
        chats = model.chats[first:]
        assert len(chats) == 6 * turns and prefix_breaks(chats) == []
        assert {len(kept_bases(chat)) for chat in chats} == ({1} if kind == "with" else {0})
        sent[kind] = _requests(chats)
    prices = prices_of(PRICES)
    costs = {kind: simulate_cache(requests, OPENAI) for kind, requests in sent.items()}
    spent = {kind: usd_cost(each, prices) for kind, each in costs.items()}
    ratio, naive = spent["with"] / spent["without"], spent["naive"] / spent["without"]
    hits = sum_costs(costs["with"]).hit_ratio
    figures = f"{model_name}, {6 * turns} calls: x {ratio:.3f}, naive x {naive:.2f}, hits {hits:.3f}"
    record_property("figures", figures)
    print(figures)
    assert ratio <= MOST[turns] < naive


def _requests(chats: list[CapturedRequest]) -> list[CacheRequest]:
    return [chat.request(count_tokens, timestamp=1000 * n) for n, chat in enumerate(chats)]


def _whole(host: Codex, session: str) -> str:
    with Hud.open(host.log) as hud:
        return hud.session(next(key for key in hud.sessions() if session in key)).whole_frame().base


def _print_each_time(host: Codex) -> None:
    names = ("SessionStart", "UserPromptSubmit", "PostToolUse")
    hooks = {name: [{"hooks": [{"type": "command", "command": f"cat {host.folder}/{name}"}]}] for name in names}
    (host.home / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    _to_be_printed(host, "")
    host.trust()


def _to_be_printed(host: Codex, text: str) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "PostToolUse"):
        output = {"hookEventName": name, "additionalContext": text.replace("Your HUD", "The state")}
        Path(host.folder / name).write_text(json.dumps({"hookSpecificOutput": output}))
