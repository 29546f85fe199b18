"""A world that was written before the redesign replays: the same HUDs, byte for byte, and the same state."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from compatibility_files import as_text, unreadable_snapshots, without_snapshots

Facts = Callable[..., Any]
Golden = Callable[[str, str], None]

LAST = 152


@pytest.fixture
def world(stored: Path) -> Path:
    return stored / "rooms" / "harbour.db"


def shown(facts: Facts, world: Path, *seqs: int) -> str:
    """The world at some events, and what each agent sees in each format at the last of them."""
    told = {f"at {seq}": facts("rooms", "show", "--at", seq, "--world", world) for seq in seqs}
    for one in told.values():
        one.pop("file")
    for agent in ("1", "2", "3"):
        for form in ("json", "compact", "toon", "markdown"):
            seen = facts("rooms", "show", agent, "--format", form, "--at", seqs[-1], "--world", world)
            told[f"agent {agent} in {form}, SHA-256"] = sha256(seen["text"].encode()).hexdigest()
    told["agent 3 in compact"] = seen_by(facts, world, "3", "compact", seqs[-1])
    told["agent 1 in markdown"] = seen_by(facts, world, "1", "markdown", seqs[-1])
    return as_text(told)


def seen_by(facts: Facts, world: Path, agent: str, form: str, seq: int) -> list[str]:
    """An agent's HUD, line by line."""
    seen = facts("rooms", "show", agent, "--format", form, "--at", seq, "--world", world)
    return str(seen["text"]).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "events", "beats"), [("harbour", 152, 20), ("low-water", 60, 5)])
def test_every_hud_is_composed_again(facts: Facts, world: Path, name: str, events: int, beats: int) -> None:
    told = facts("rooms", "replay", "--world", world.with_name(f"{name}.db"))
    assert (told["events"], told["beats"], told["same"]) == (events, beats, beats)
    assert told["differ"] == [] and told["state"] is True and told["gone"] == 0


@pytest.mark.slow
def test_the_world_is_the_same_at_any_event(facts: Facts, golden: Golden, world: Path) -> None:
    golden("world.json", shown(facts, world, 78, LAST))


@pytest.mark.slow
def test_saved_worlds_of_another_shape_are_folded_anew(facts: Facts, golden: Golden, world: Path) -> None:
    """What a world saves of itself is no promise: it is made again from the events."""
    assert unreadable_snapshots(world) > 2
    golden("world.json", shown(facts, world, 78, LAST))
    assert without_snapshots(world) > 2
    golden("world.json", shown(facts, world, 78, LAST))


def test_what_happened_is_exported_as_it_was(hudkit: Any, world: Path, stored: Path) -> None:
    code, out, _ = hudkit("rooms", "export", "--format", "jsonl", "--world", world)
    assert code == 0
    assert out == (stored / "rooms" / "harbour.jsonl").read_text(encoding="utf-8")


def test_every_type_of_event_is_in_it(stored: Path) -> None:
    from compatibility_internals import WORLD_EVENT_TYPES

    lines = (stored / "rooms" / "harbour.jsonl").read_text(encoding="utf-8").splitlines()
    assert set(WORLD_EVENT_TYPES) >= {json.loads(line)["type"] for line in lines}, "a type is gone"


def test_the_log_is_whole(facts: Facts, world: Path) -> None:
    assert facts("verify", "--db", world)["findings"] == []


@pytest.mark.slow
def test_it_is_forked_and_played_on(facts: Facts, world: Path, stored: Path) -> None:
    fork = stored / "rooms" / "ebb.db"
    told = facts("rooms", "fork", fork, "--at", 100, "--world", world)
    assert told["forked_at"] == 100
    assert facts("rooms", "replay", "--world", fork)["state"] is True
    facts("rooms", "run", "--beats", 4, "--fast", "--model", "improviser", "--resume", "--world", world)
    after = facts("rooms", "replay", "--world", world)
    assert after["beats"] >= 24 and after["differ"] == [] and after["state"] is True


@pytest.mark.slow
def test_a_world_is_founded_by_its_file(facts: Facts, golden: Golden, stored: Path) -> None:
    """The file has every key that there is."""
    made = stored / "rooms" / "made.db"
    words = ("--file", stored / "rooms" / "harbour.toml", "--prompts", stored / "rooms" / "prompts")
    facts("rooms", "new", made, *words)
    told = facts("rooms", "show", "--at", 13, "--world", made)
    agents = told["agents"].values()
    timeless = ("born", "due", "changed", "last_beat", "seen")
    kept = [{name: value for name, value in one.items() if name not in timeless} for one in agents]
    golden(
        "founded.json", as_text({"rules": told["rules"], "seed": told["seed"], "name": told["name"], "agents": kept})
    )
    folder = stored / "written"
    facts("rooms", "prompts", "--write", folder, "--world", made)
    assert (folder / "directives" / "rooms.md").read_text() == "A room is a conversation by the water.\n"
    assert (folder / "memory" / "full.md").read_text() == "Write less.\n"
