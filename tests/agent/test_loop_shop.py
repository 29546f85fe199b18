"""A task over several files: two real MCP servers, sub-agents, steering, a fallback, an overflow; and kills."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from shop_child import COMMIT, PARTS, PROMPT, STEERING, TASK, Shop, digest, open_shop, steer_once

from campaigns import Campaign
from hudkit import Hud
from hudkit.agent import events
from hudkit.agent.message_history import is_summary
from hudkit.agent.records import StoredCall, find_faults
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.sections.state import HudState

pytestmark = [pytest.mark.anyio, pytest.mark.hosts, pytest.mark.slow]

KILLS = Campaign("task-kills", quick=5, full=100)
CHILD = Path(__file__).with_name("shop_child.py")
Commands = dict[str, tuple[str, ...]]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.begin()
    return made


def check_requests(shop: Shop, session: str, *, all_received: bool) -> None:
    """What reached the models is what the log builds again, byte for byte; a kill may come before it is sent."""
    with SessionStore.open(shop.place / "data" / "sessions.db", read_only=True) as store:
        sessions = (session, *store.changes.sub_sessions(session))
        assert [fault for id in sessions for fault in find_faults(store.messages(id))] == []
    log = RequestLog(shop.place / "data" / "requests.db")
    logged = Counter(digest(each.request) for id in sessions for each in log.requests(id))
    log.close()
    received = Counter((shop.place / "received").read_text().split())
    assert not received - logged and (received == logged or not all_received)


def check_files(shop: Shop) -> None:
    assert shop.missing() == []
    assert (shop.project / "legacy.py").read_text() == "OLD = True\n"
    assert (shop.project / "checked").read_text() == "glaze prices stock\n"
    assert COMMIT in shop.commits() and shop.remembered().count('"the_shop"') == 1


def hud_state(shop: Shop, session: str) -> HudState:
    with Hud.open(shop.place / "data" / "hudkit.db") as hud:
        return hud.session(session, project=shop.project, host="session").state


def check_hud(state: HudState) -> None:
    assert state.task.description == TASK
    assert [rule.text for rule in state.constraints.items] == [STEERING.rstrip(".")]
    assert {run.task for run in state.subagents.runs} == {f"part {name}" for name in PARTS}
    assert not [run for run in state.subagents.runs if run.working]


async def test_a_task_with_everything_at_once(shop: Shop, mcp_commands: Commands) -> None:
    loop = await open_shop(shop, "", mcp_commands)
    seen, session = loop.events(), loop.id
    assert loop.problems == []
    steering = asyncio.ensure_future(steer_once(loop, loop.events()))
    ended = await loop.prompt(PROMPT)
    await steering
    await loop.close()
    assert (ended.reason, ended.text) == ("done", "The shop has its parts.")
    check_files(shop)
    told = seen.take()
    begun = [n for n, each in enumerate(told) if isinstance(each, events.TurnStarted) and each.parent_id]
    over = [n for n, each in enumerate(told) if isinstance(each, events.TurnEnded) and each.session_id != session]
    assert len(begun) == len(over) == 3 and max(begun) < min(over), "all three were at work at the same time"
    fallen = [each for each in told if isinstance(each, events.ModelSubstituted)]
    assert [(each.wanted, each.model) for each in fallen] == [("main:m", "spare:m")]
    assert [each.overflow for each in told if isinstance(each, events.CompactionStarted)] == [True]
    assert STEERING in [each.message.parts[0].text for each in told if isinstance(each, events.PromptAccepted)]  # type: ignore[union-attr]
    check_requests(shop, session, all_received=True)
    state = hud_state(shop, session)
    check_hud(state)
    assert all(run.words.endswith("is written") for run in state.subagents.runs)
    assert not state.errors.open and shop.commits() == [COMMIT, "Begin"]


def killed(shop: Shop, session: str, commands: Commands, calls: int, wait: float) -> tuple[str, str]:
    """The session's id, and how the process ended by itself (empty: it was killed) so long behind so many calls."""
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(shop.place), session, json.dumps(commands)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    id = child.stdout.readline().decode().strip()
    lines = [child.stdout.readline() for _ in range(calls)]
    time.sleep(wait)
    child.send_signal(signal.SIGKILL)
    lines.append(child.stdout.read())
    child.wait()
    child.stdout.close()
    ended = next((each.decode() for each in b"".join(lines).splitlines() if each.startswith(b"ended")), "")
    return id or session, ended


@KILLS
def test_a_task_that_is_killed_at_any_point_comes_to_the_same_end(tmp_path: Path, mcp_commands: Commands) -> None:
    chance = KILLS.chance(11)
    kills, summaries, cut_below = 0, 0, 0
    while kills < KILLS.rounds:
        shop = Shop(tmp_path / f"{kills}")
        shop.place.mkdir()
        shop.begin()
        session, ended = "", ""
        while not ended:
            patience = chance.randrange(9) if kills < KILLS.rounds else 1_000
            session, ended = killed(shop, session, mcp_commands, patience, chance.uniform(0, 0.2))
            kills += not ended
        assert ended.split()[:2] == ["ended", "done"], ended
        check_files(shop)
        check_requests(shop, session, all_received=False)
        check_hud(hud_state(shop, session))
        with SessionStore.open(shop.place / "data" / "sessions.db", read_only=True) as store:
            summaries += sum(map(is_summary, store.messages(session)))
            below = [each for id in store.changes.sub_sessions(session) for each in store.messages(id)]
        calls = (part for message in below for part in message.parts if isinstance(part, StoredCall))
        cut_below += sum(call.interrupted for call in calls)
    assert summaries
    assert cut_below or KILLS.rounds < 50, "kills have hit sub-agents at work"
