"""Hundreds of requests of real Claude Code: each is the beginning of the next, and the HUD costs little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from claude_host import ClaudeCode, Data, bash, edit, hud, read, uses

from campaigns import Campaign
from hudkit.context.caching import ANTHROPIC, simulate_cache, sum_costs, usd_cost
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedReply, says
from hudkit.testing.assertions import prefix_difference
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

Claudes = Callable[..., ClaudeCode]
PREFIX = Campaign("claude-code-prefix", quick=8, full=56)
"""Turns of six requests each."""
COST = Campaign("claude-code-cost", quick=7, full=20)
"""The same of the day that is priced."""

_LATE = "  const late = e.agent_id"
_WHOLE = "  return withText(result, await answerTool($, 'hud', { operation: 'snapshot' }));"
NAIVE = ("hooks/register.js", _LATE, f"{_WHOLE}\n{_LATE}")
"""What a hook does that knows nothing of caches: it tells the whole HUD each time."""


def write_parts(project: Path) -> None:
    for n in range(4):
        (project / f"part_{n}.txt").write_text("".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(110)))


def turn(project: Path, number: int, *, with_hud: bool) -> Sequence[ScriptedReply]:
    """Six requests: two calls at once, a note, a change, a command that fails at times, words."""
    part, out = project / f"part_{number % 4}.txt", project / f"out_{number}.txt"
    out.write_text("rows: 0\n")
    note = (
        hud("task.set", description="Port the report to the new API")
        if number == 0
        else hud("decisions.record", summary=f"Column {number} stays where it is", reason="finance reads by position")
    )
    return (
        uses(read(part), read(out), text=f"Reading part {number}."),
        uses(bash(f"echo checking {number} && seq 1 60"), bash("true")),
        uses(note if with_hud else bash(f"echo noted {number}")),
        uses(edit(out, "rows: 0", f"rows: {number}")),
        uses(bash(f"echo test {number}; exit {number % 3 == 1:d}")),
        says(f"Turn {number} is done: the part is ported and checked. " * 8),
    )


@PREFIX
def test_each_request_is_the_beginning_of_the_next(claude: Claudes, model: ScriptedModel, project: Path) -> None:
    """With parallel calls, two resumes and a compaction, behind which it begins anew."""
    write_parts(project)
    session = claude()
    ends = []
    for number in range(PREFIX.rounds):
        if number in (PREFIX.rounds // 4, PREFIX.rounds // 2):
            session.close()
            session = claude(session.session, resume=True)
        if number == 3 * PREFIX.rounds // 4:
            session.say("/compact")
            ends.append(len(model.chats))
        model.play(*turn(project, number, with_hud=True))
        session.say(f"Now part {number}, please; keep the columns as they are.")
    chats = model.chats
    assert len(chats) == PREFIX.rounds * 6
    pairs = [(n, prefix_difference(before, after)) for n, (before, after) in enumerate(pairwise(chats), 1)]
    breaks = [(n, words) for n, words in pairs if words and n not in ends]
    print(f"prefix: {len(pairs) - len(ends)} of {len(pairs)} requests, {len(breaks)} breaks but for {len(ends)}")
    assert breaks == []
    deltas = sum("[hud " in text for _, text in session.contexts())
    assert deltas >= PREFIX.rounds // 3, "there were deltas that could have broken it"


@COST
def test_the_hud_costs_little_and_a_naive_hook_much(
    claude: Claudes, model: ScriptedModel, data: Data, project: Path, tmp_path: Path
) -> None:
    """A day with the HUD, without it, and with the whole HUD told at each hook, priced on the requests."""
    write_parts(project)
    plugins = {"without": None, "hud": data.write_plugin()}
    spent = {}
    for name in ("without", "hud", "naive"):
        plugin = data.write_plugin(edits=[NAIVE]) if name == "naive" else plugins[name]
        model.requests.clear()
        with ClaudeCode(tmp_path / name, project, model.url, plugin=plugin) as session:
            for number in range(COST.rounds):
                model.play(*turn(project, number, with_hud=plugin is not None))
                session.say(f"Now part {number}, please; keep the columns as they are.")
        spent[name] = priced(model.chats)
        assert len(model.chats) == COST.rounds * 6
    calls = COST.rounds * 6
    ratios = {name: spent[name] / spent["without"] for name in ("hud", "naive")}
    print(f"cost: {calls} calls, with the HUD x {ratios['hud']:.3f}, with a naive hook x {ratios['naive']:.3f}")
    assert ratios["hud"] <= (1.03 if COST.rounds >= 20 else 1.05)
    assert ratios["naive"] > ratios["hud"]


def priced(chats: Sequence[CapturedRequest]) -> float:
    requests = [chat.request(count_tokens, timestamp=1000 * n) for n, chat in enumerate(chats)]
    costs = simulate_cache(requests, ANTHROPIC)
    print(f"{len(chats)} calls, hit ratio {sum_costs(costs).hit_ratio:.3f}")
    return usd_cost(costs, prices_of("claude-sonnet-4-5"))
