"""A recorded run played again: the same events with the same HUDs, held and stepped, and left where somebody acts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from page_process import Served, Visitor, words_of

from hudkit.cli import main
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.players import IMPROVISER_MODEL, PlayerRegistry, ScriptedPlayer, open_players
from hudkit.rooms.recording import (
    Recording,
    RecordingPlayer,
    found_recorded_world,
    parse_recording,
    recording_that_ships,
    write_recording,
)
from hudkit.rooms.reply_parser import is_silence
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_file import read_world_file
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log

pytestmark = pytest.mark.slow
Run: TypeAlias = Callable[..., tuple[int, str, str]]
START = 1_795_000_000_000
FOUNDING = Path(__file__).parents[2] / "bench" / "real_model" / "lifeboat.toml"


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`rooms("show", ...)` in an empty data directory gives the exit code, the output and the error output."""
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))

    def run(*argv: object) -> tuple[int, str, str]:
        code = main(["rooms", *map(str, argv)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Two agents who speak four times each."""
    clock = SimulatedClock(START)
    world_log = WorldLog.in_memory(name="quay", clock=clock.wall)
    architect = Architect(world_log, clock.wall)
    for name, rooms in (("Ada", ()), ("Ben", (1,))):
        architect.make_agent("persona", name, "You mend nets.", "scripted", rooms=rooms)
    lines = [{"responses": [{"room_id": 1, "message": f"Line {number}"}]} for number in range(4)]
    players = PlayerRegistry({"scripted": ScriptedPlayer({1: lines, 2: lines})})
    asyncio.run(WorldRunner(world_log, players, clock=clock).run(beats=8))
    return parse_recording(write_recording(world_log, "Played by a script."))


def opened(recording: Recording, path: Path) -> tuple[WorldLog, RecordingPlayer, SimulatedClock]:
    world_log = found_recorded_world(recording, path / "quay.db")
    clock = SimulatedClock(START + 10**9)
    runner = WorldRunner(world_log, open_players(), clock=clock)
    return world_log, RecordingPlayer(world_log, recording, runner, clock), clock


def test_it_is_played_to_its_end_with_the_same_events_and_huds(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    assert player.is_recorded and not world_log.world.beats
    asyncio.run(player.run())
    entries = [(entry.id, entry.timestamp, event) for entry, event in world_log.events()]
    assert entries == [(draft.id, draft.timestamp, draft.payload) for draft in recording.drafts]
    assert player.is_recorded and player.metrics().beats == 8


def test_it_goes_on_where_it_was_left(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    asyncio.run(player.run(beats=3))
    assert world_log.world.beats == 3
    world_log.close()
    with WorldLog.open(tmp_path / "quay.db") as again:
        assert recording.position(again) == again.world.seq
        runner = WorldRunner(again, open_players(), clock=SimulatedClock(START))
        asyncio.run(RecordingPlayer(again, recording, runner, SimulatedClock(START)).run())
        assert again.world.seq == len(recording.drafts)


def test_a_beat_at_a_time(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    asyncio.run(player.step())
    assert sum(isinstance(event, e.BeatFinished) for _, event in world_log.events()) == 1


def test_who_says_something_makes_it_a_world_of_its_own(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    asyncio.run(player.run(beats=2))
    Architect(world_log, player.now).say(1, "Stop, all of you.")
    assert recording.position(world_log) is None and not player.is_recorded
    asyncio.run(player.run(beats=4))
    assert {agent.model for agent in world_log.world.agents.values()} == {IMPROVISER_MODEL}
    assert world_log.world.beats > 2
    told = [event.content for _, event in world_log.events() if isinstance(event, e.MessagePosted)]
    assert "Line 3" not in told, "what was recorded behind it does not happen any more"


def test_behind_its_end_the_improviser_plays_when_it_is_asked_to(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    asyncio.run(player.run())
    asyncio.run(player.run(beats=3))
    assert world_log.world.beats == 11 and not player.is_recorded


def test_held_it_stands_and_no_event_says_so(recording: Recording, tmp_path: Path) -> None:
    world_log, player, clock = opened(recording, tmp_path)
    context = PageContext(world_log, player=player)
    context.pause()
    assert context.recorded is player and player.paused
    before = world_log.world.seq
    clock.advance(3600)
    assert player.now() == world_log.world.now and world_log.world.seq == before and world_log.world.paused is None
    context.set_speed(10)
    assert player.pace == context.speed == 10 and world_log.world.speed == 1


def test_the_page_says_that_it_is_one_and_how_far(recording: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(recording, tmp_path)
    player.hold(paused=True)
    served = Served(PageContext(world_log, player=player))
    try:
        visitor = Visitor(served)
        visitor.login()
        said = words_of(visitor.get())
        assert "They are recorded. Played by a script." in said
        assert f"Recorded: event {world_log.world.seq} of {len(recording.drafts)}" in said
    finally:
        served.close()


def test_a_recording_is_written_and_shown_from_the_shell(recording: Recording, tmp_path: Path, rooms: Run) -> None:
    file = tmp_path / "quay.recording"
    world_log, player, _ = opened(recording, tmp_path)
    asyncio.run(player.run())
    world_log.close()
    export = ("export", "--world", tmp_path / "quay.db", "--format", "recording", "--output", file)
    assert rooms(*export)[0] == 2, "it has to say who played"
    assert rooms(*export, "--about", "Played by a script.")[0] == 0
    code, out, _ = rooms("new", "demo", "--recording", file)
    assert code == 0 and "2 agents" in out
    code, out, err = rooms("run", "--world", "demo", "--fast", "--for", "2h")
    assert code == 0 and "recorded. Played by a script." in err and out.count("Line 3") == 2, err
    assert rooms("replay", "--world", "demo")[0] == 0
    (tmp_path / "no.recording").write_bytes(b"no")
    code, _, err = rooms("new", "other", "--recording", tmp_path / "no.recording")
    assert code == 2 and "is not a recording" in err
    assert rooms("new", "other", "--recording", file, "--model", "openai:gpt-5")[0] == 2


# -- the recorded run that ships -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lifeboat() -> Recording:
    return parse_recording(recording_that_ships())


def test_the_run_that_ships_is_shown_as_it_was_recorded(lifeboat: Recording, tmp_path: Path) -> None:
    world_log, player, _ = opened(lifeboat, tmp_path)
    asyncio.run(player.run())
    entries = [(entry.id, entry.timestamp, event) for entry, event in world_log.events()]
    assert entries == [(draft.id, draft.timestamp, draft.payload) for draft in lifeboat.drafts]
    report = replay_log(world_log)
    assert report.state and report.beats == world_log.world.beats, "its log is sound, whatever later HUDs look like"


def test_the_run_that_ships_is_of_the_founding_that_is_said(lifeboat: Recording) -> None:
    made = [draft.payload for draft in lifeboat.drafts if isinstance(draft.payload, e.AgentCreated)]
    founding = read_world_file(FOUNDING)
    assert [(agent.name, agent.background) for agent in made] == [
        (agent.name, agent.background) for agent in founding.agents
    ]
    assert {agent.model for agent in made} == {founding.model} and "Qwen" in lifeboat.about


def test_in_the_run_that_ships_nobody_repeats_a_line_all_vote_and_it_ends(lifeboat: Recording) -> None:
    events = [draft.payload for draft in lifeboat.drafts]
    replies = [event for event in events if isinstance(event, e.ReplyReceived)]
    said = [event.content for event in events if isinstance(event, e.MessagePosted) and event.sender > 0]
    assert not any(event.error for event in replies)
    assert sum(is_silence(event.text) for event in replies) <= len(replies) / 10
    assert len(set(said)) == len(said) >= 12
    votes = [event for event in events if isinstance(event, e.ActionApplied) and event.action["type"] == "vote"]
    assert {event.agent for event in votes} == {1, 2, 3, 4}
    told = [event.content for event in events if isinstance(event, e.MessagePosted) and event.sender == 0]
    assert any("goes over the side!" in content for content in told)
    assert any("You are saved!" in content for content in told)


def test_who_has_no_world_yet_is_shown_the_run_that_ships(rooms: Run, lifeboat: Recording) -> None:
    code, out, err = rooms("run", "--for", "2h", "--fast")
    assert code == 0 and "a new world, lifeboat" in err and f"recorded. {lifeboat.about}" in err
    assert "You are saved!" in out
    shown = rooms("show")[1]
    assert f"recorded: {lifeboat.about}" in shown
    assert json.loads(rooms("show", "--json")[1])["recorded"] == lifeboat.about
    assert rooms("say", "Vera", "Who are you?")[0] == 0
    assert "recorded:" not in rooms("show")[1] and not json.loads(rooms("show", "--json")[1])["recorded"]
    assert rooms("new", "again", "--recording", "lifeboat")[0] == 0
    assert rooms("new", "again", "--recording", "liveboat")[0] == 2


def test_who_names_a_model_gets_the_island(rooms: Run) -> None:
    code, _, err = rooms("run", "--beats", "3", "--fast", "--model", "improviser")
    assert code == 0 and "a new world, island" in err and "improviser (rules and chance" in err
