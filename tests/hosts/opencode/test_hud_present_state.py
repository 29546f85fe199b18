"""A long session of real OpenCode without a compaction: what the HUD's layers hold of what is true, and the price."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opencode_host import Hosts, OpenCode

from hudkit.api import Hud
from hudkit.context.caching import ANTHROPIC, OPENAI, CacheRequest, simulate_cache, usd_cost
from hudkit.log.payloads import ContextSnapshot, FrameBase
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.sections.state import HudState
from hudkit.testing.assertions import delta_lines, hud_base, prefix_breaks
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of
from long_session import CALLS, MODULES, TITLE, ToolUse, fact_share, live_facts, source, turns

pytestmark = pytest.mark.slow

CHECK = """n=$(($(cat .checks 2>/dev/null || echo 0) + 1)); echo $n > .checks
line=$(sed -n "${n}p" results.txt); echo "${line#*|}"; exit "${line%%|*}"
"""
"""Plays the test runs of the session: each call says and returns what the next line of `results.txt` has."""


def files() -> dict[str, str]:
    """The project: its modules, and the test runs in their order."""
    checks = [use for turn in turns() for step in turn.steps for use in step if "check.sh" in str(use.arguments)]
    results = "".join(f"{use.exit}|{use.output}\n" for use in checks)
    modules = {f"billing/{module}.py": source(module) for module in MODULES}
    return {**modules, "check.sh": CHECK, "results.txt": results}


def replies(project: Path, with_hud: bool) -> Iterator[ScriptedReply]:
    for turn in turns():
        for step in turn.steps:
            calls = [_call(use, project) for use in step if with_hud or use.tool != "hud"]
            yield uses(*calls, text="Next.")
        yield says(turn.answer)


def _call(use: ToolUse, project: Path) -> ScriptedCall:
    arguments = dict(use.arguments)
    if "filePath" in arguments:
        arguments["filePath"] = str(project / str(arguments["filePath"]))
    return ScriptedCall(use.tool, arguments)


def lived(host: OpenCode, model: ScriptedModel, with_hud: bool) -> list[CapturedRequest]:
    """The session's model calls, as they reached the model."""
    host.serve()
    session = host.create(TITLE)
    model.requests.clear()
    model.play(*replies(host.project, with_hud))
    for turn in turns():
        host.prompt(session, turn.prompt)
    assert len(model.chats) == CALLS
    return model.chats


def states(db: Path) -> list[HudState]:
    """The state at each call."""
    with Hud.open(db) as hud:
        (name,) = hud.sessions()
        session = hud.session(name)
        events = list(session.events())
        assert len([event for event in events if isinstance(event.payload, FrameBase)]) == 1
        called = [event.seq for event in events if isinstance(event.payload, ContextSnapshot) and event.payload.call]
        return [session.state_at(seq) for seq in called]


def layers(chat: CapturedRequest) -> str:
    tail = chat.pieces[-1].text if "\nNow:\n" in chat.pieces[-1].text else ""
    return "\n".join([hud_base(chat), *delta_lines(chat), tail])


def test_far_into_an_epoch_the_agent_sees_its_present_state(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    sent: dict[bool, list[CacheRequest]] = {}
    for with_hud in (False, True):
        plugins = [plugin] if with_hud else []
        host = opencode(shape="anthropic", plugins=plugins, files=files(), limit=(400_000, 8_000))
        chats = lived(host, model, with_hud)
        sent[with_hud] = [chat.request(count_tokens, timestamp=1_000 * n) for n, chat in enumerate(chats)]
        host.close()
    known = states(plugin.parent / "hudkit.db")
    shares = [
        # Of all live facts: the budget has room for each of them.
        fact_share(state, layers(chat), "\n".join(live_facts(state)))
        for state, chat in zip(known, chats, strict=True)
    ]
    print("shares", {n: round(shares[n - 1], 3) for n in (20, 60, 110)}, f"mean {sum(shares) / CALLS:.3f}")
    assert min(shares[n - 1] for n in (20, 60, 110)) >= 0.9
    assert prefix_breaks(chats) == []
    prices = prices_of("claude-sonnet-4-5")
    for policy in (ANTHROPIC, OPENAI):
        for count, most in ((42, 1.04), (CALLS, 1.03)):
            with_it, without = (usd_cost(simulate_cache(sent[on][:count], policy), prices) for on in (True, False))
            print(f"{policy.name}: {count} calls, x {with_it / without:.3f}")
            assert with_it / without <= most
