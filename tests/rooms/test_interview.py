"""An agent is asked aside, and a world's answers are played again: the world that they come from stays as it is."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.cli import main
from hudkit.errors import ConfigError
from hudkit.models import open_model
from hudkit.models.scripted_answers import says
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.experiments.interview import InterviewAnswer, event_at, interview
from hudkit.rooms.experiments.rerun import founding_end, rerun_log
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer, open_players
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_file import island_world, populate_world
from hudkit.rooms.world_log import WORLD_SESSION, WorldLog
from hudkit.rooms.world_replay import replay_log
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

MODEL = "openai-chat:gpt-4o-mini"


@pytest.fixture
def island(tmp_path: Path) -> Path:
    """The island after forty beats; its third agent has a model's name, and is played by the improviser."""
    path = tmp_path / "island.db"
    founding = island_world()
    clock = SimulatedClock()
    with WorldLog.create(path, name="island", seed=5, rules=founding.rules, clock=clock.wall) as world_log:
        populate_world(world_log, founding)
        improviser = open_players().of("improviser")
        players = PlayerRegistry({}, lambda _: improviser)
        asyncio.run(WorldRunner(world_log, players, clock=clock).run(beats=20))
        Architect(world_log, clock.wall).alter(3, model=MODEL)
        asyncio.run(WorldRunner(world_log, players, clock=clock).run(beats=20))
    return path


def digest(path: Path) -> str:
    """Of all that the log says, and of the bytes of its file."""
    with WorldLog.open(path, read_only=True) as world_log:
        events = [(entry.seq, entry.id, entry.timestamp, repr(event)) for entry, event in world_log.events()]
    return hashlib.sha256(repr(events).encode() + path.read_bytes()).hexdigest()


def ask(path: Path, agent: int, players: PlayerRegistry, seq: int | None = None) -> InterviewAnswer:
    with WorldLog.open(path, read_only=True) as world_log:
        return asyncio.run(interview(world_log, agent, "Why did you vote so?", players, seq=seq))


def test_a_model_is_asked_behind_its_hud_and_the_log_stays_untouched(island: Path) -> None:
    before = digest(island)
    with ScriptedModel([says("Because of the boats.")]) as server:
        players = open_players(lambda name: open_model(name, key="k", base_url=f"{server.url}/v1"))
        with WorldLog.open(island, read_only=True) as world_log:
            seq = next(entry.seq for entry, event in world_log.events(200) if isinstance(event, e.BeatBegun)) - 1
            then = world_log.world_at(seq)
            hud = build_agent_hud(then, 3, then.now, CachedRenderer())
        answer = ask(island, 3, players, seq)
        (request,) = server.requests
    told = "".join((*request.system, *(text for _, text in request.messages)))
    assert told.startswith(hud.text) and told.endswith("The question: Why did you vote so?")
    assert (answer.answer, answer.hud, answer.seq) == ("Because of the boats.", hud.digest, seq)
    assert answer.cost > 0 and not answer.in_a_copy and answer.asked_at == then.now
    assert digest(island) == before


def test_a_player_that_knows_only_beats_is_asked_in_a_copy(island: Path) -> None:
    before = digest(island)
    player = ScriptedPlayer(lambda _: {"responses": [{"room_id": 1, "message": "Since the ferry left."}]})
    answer = ask(island, 1, PlayerRegistry({"improviser": player}))
    assert (answer.answer, answer.in_a_copy, answer.error) == ("Since the ferry left.", True, "")
    assert "Why did you vote so?" in player.prompts[0].hud.text
    assert digest(island) == before


def test_a_moment_is_an_event_or_a_time(island: Path) -> None:
    with WorldLog.open(island, read_only=True) as world_log:
        times = {entry.seq: entry.timestamp for entry, _ in world_log.events()}
        begun = world_log.world.created_at
        for moment, until in (("30s", begun + 30_000), ("0.5m", begun + 30_000)):
            assert event_at(world_log, moment) == max(seq for seq, time in times.items() if time <= until)
        assert event_at(world_log, "120") == 120
        assert event_at(world_log, "2100-01-01") == max(times)
        for wrong in ("soon", "9999", "2001-01-01", "25:99"):
            with pytest.raises(ConfigError):
                event_at(world_log, wrong)


def test_the_command_says_who_answered(island: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rooms", "interview", "Maren", "Why?", "--world", str(island), "--at", "1m"]
    assert main(words) == 0
    assert "Maren (1), improviser (rules and chance" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["in_a_copy"] is True
    assert main(["rooms", "interview", "Nobody", "Why?", "--world", str(island)]) == 2


# -- the same answers, one thing changed ---------------------------------------------------------------------------


def rerun(island: Path, change: Callable[[Architect], None], after: int | None = None) -> tuple[WorldLog, object]:
    with WorldLog.open(island, read_only=True) as world_log:
        return rerun_log(world_log, None, lambda copy: change(Architect(copy, copy.clock)), after=after)


def test_without_a_difference_the_record_goes_the_same_way(island: Path) -> None:
    before = digest(island)
    copy, report = rerun(island, lambda architect: None)
    with copy, WorldLog.open(island, read_only=True) as world_log:
        assert report.parting is None and report.beats == 40  # type: ignore[attr-defined]
        assert copy.world.messages == world_log.world.messages and copy.world.agents == world_log.world.agents
    assert digest(island) == before


def test_the_worlds_part_at_the_first_hud_that_differs(island: Path) -> None:
    copy, report = rerun(island, lambda architect: architect.alter(2, background="You keep bees."))
    parting = report.parting  # type: ignore[attr-defined]
    with copy, WorldLog.open(island, read_only=True) as world_log:
        beats = [(entry.seq, event) for entry, event in world_log.events() if isinstance(event, e.BeatBegun)]
        first = next(seq for seq, event in beats if event.agent == 2)
        assert (parting.seq, parting.agent, parting.number) == (first, 2, 1)
        (difference,) = parting.differences
        assert (difference.path, difference.after) == ("self.identity.seed", "You keep bees.")
        assert report.beats == sum(seq < first for seq, _ in beats)  # type: ignore[attr-defined]
        assert copy.world.agents[2].background == "You keep bees." and replay_log(copy).sound
        assert founding_end(copy) >= founding_end(world_log)


def test_another_model_is_a_difference_and_numbers_that_do_not_follow_are_told(island: Path) -> None:
    copy, report = rerun(island, lambda architect: architect.alter(1, model=MODEL))
    copy.close()
    assert any("model" in row.path for row in report.parting.differences)  # type: ignore[attr-defined]
    copy, report = rerun(island, lambda architect: architect.say(5, "Fog."))
    copy.close()
    parting = report.parting  # type: ignore[attr-defined]
    assert parting.why.startswith("the message") or parting.differences


def test_the_command_goes_on_or_stops(
    island: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    before = digest(island)
    words = ["rooms", "rerun", "--world", str(island), "--alter", "Tobiah.background=You keep bees.", "--json"]
    assert main([*words, "stopped", "--stop"]) == 0
    stopped = json.loads(capsys.readouterr().out)
    assert (stopped["played"], stopped["parting"]["agent"]) == (0, 2)
    assert main([*words, "on", "--alter", "Yun.model=improviser", "--beats", "8"]) == 0
    on = json.loads(capsys.readouterr().out)
    assert on["played"] == 8 and on["parting"]["seq"] == stopped["parting"]["seq"]
    with WorldLog.open(tmp_path / "data" / "worlds" / "on.db", read_only=True) as world_log:
        assert replay_log(world_log).sound and world_log.log.last_seq(WORLD_SESSION) == on["seq"]
    assert main([*words[:4], "none"]) == 2 and not (tmp_path / "data" / "worlds" / "none.db").exists()
    assert main([*words, "wrong", "--alter", "Yun.temperature=hot"]) == 2
    assert digest(island) == before
