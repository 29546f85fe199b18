"""A world and its log: replay is the live state, commits are whole or nothing, the past can be seen and forked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import ConfigError, OperationError, SequenceConflict, StoreDamaged, StoreError, StoreReadOnly
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import Redact
from hudkit.log.stores import open_log
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import ACTIONS, execute_reply
from hudkit.rooms.architect import Architect
from hudkit.rooms.fold_log import apply_event
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.reply_parser import ParsedReply, parse_reply
from hudkit.rooms.world import WordRules, World, WorldRules
from hudkit.rooms.world_log import WORLD_SESSION, Transaction, WorldLog

NOW = 1_800_000_000_000


def replayed(world_log: WorldLog, upto: int | None = None) -> World:
    """The world from its first event on, without any snapshot."""
    world = World()
    for event, what in world_log.events(upto=upto):
        apply_event(world, event.seq, event.timestamp, what)
    return world


def populate(world_log: WorldLog) -> Architect:
    architect = Architect(world_log)
    for name, rooms in (("Ann", ()), ("Bob", (1,)), ("Cid", (1, 2))):
        architect.make_agent("persona", name, "You are here.", "scripted", rooms=rooms, can_create=name == "Ann")
    return architect


def saying(world_log: WorldLog, *texts: str, agent: int = 1) -> None:
    with world_log.transaction(Origin.AGENT) as transaction:
        for text in texts:
            execute_reply(
                transaction,
                world_log.world,
                agent,
                1,
                ParsedReply(({"room_id": 1, "message": text},)),
                transaction.timestamp,
            )


# -- making and opening ----------------------------------------------------------------------------------------


def test_a_world_is_made_kept_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "state" / "world.db"
    rules = WorldRules(words=WordRules(wpm=120))
    prompts = {"philosophy.silence": "b"}
    with WorldLog.create(path, name="lab", seed=3, rules=rules, prompts=prompts, clock=lambda: NOW) as world_log:
        populate(world_log)
        saying(world_log, "Hello")
        live = world_log.world
    with WorldLog.open(path) as world_log:
        assert world_log.world == live
        assert (world_log.world.name, world_log.world.seed, world_log.world.rules, world_log.world.prompts) == (
            "lab",
            3,
            rules,
            {**load_prompts(), **prompts},
        )
        assert world_log.world.rooms[1].wpm == 120


def test_a_world_is_not_made_twice_nor_opened_where_none_is(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with pytest.raises(ConfigError, match="no world"):
        WorldLog.open(path)
    assert not path.exists()
    open_log(path).close()
    with pytest.raises(ConfigError, match="no world"):
        WorldLog.open(path)
    WorldLog.create(path, name="a").close()
    with pytest.raises(ConfigError, match="there is a world"):
        WorldLog.create(path, name="b")
    with WorldLog.open(path) as world_log:
        assert world_log.world.name == "a"


def test_read_only_sees_the_world_and_writes_nothing(tmp_path: Path) -> None:
    with WorldLog.create(tmp_path / "world.db", name="a", every=1) as world_log:
        populate(world_log)
        with WorldLog.open(tmp_path / "world.db", read_only=True, every=1) as reader:
            assert reader.world == world_log.world
            with pytest.raises(StoreReadOnly):
                saying(reader, "Hello")
            assert reader.world == world_log.world == replayed(world_log)


# -- commits ---------------------------------------------------------------------------------------------------


def test_a_commit_is_seen_at_once_and_durable_as_one(make_harness: Callable[..., Any]) -> None:
    harness = make_harness()
    harness.make("Ann")
    world_log, before = harness.world_log, harness.world.seq
    with world_log.transaction(Origin.AGENT) as transaction:
        transaction.append(e.KnowledgeSet(1, "a", 1))
        assert world_log.world.agents[1].knowledge == {"a": 1}
        assert world_log.log.last_seq(WORLD_SESSION) == before
    assert world_log.log.last_seq(WORLD_SESSION) == before + 1 == world_log.world.seq
    (event,) = world_log.log.read(WORLD_SESSION, after=before)
    assert event.origin is Origin.AGENT and event.timestamp == harness.now


def test_a_block_that_raises_leaves_nothing(harness: Any) -> None:
    before, world = replayed(harness.world_log), harness.world
    with pytest.raises(OperationError), harness.world_log.transaction(Origin.AGENT) as transaction:
        transaction.append(e.KnowledgeSet(1, "a", 1))
        transaction.append(e.MessagePosted(99, 1, 1, "half"))
        transaction.whisper(1, "never")
        raise OperationError("no")
    assert harness.world is world
    assert harness.world == before == replayed(harness.world_log)
    assert harness.world_log.take_whispers(1) == ()
    harness.do(1, say={1: "Hello"})
    assert harness.world == replayed(harness.world_log)


def test_what_cannot_be_stored_leaves_nothing(harness: Any) -> None:
    before = replayed(harness.world_log)
    for wrong in (
        e.KnowledgeSet(1, "a", object()),
        e.MessagePosted("x", 1, 1, "y"),
        e.KnowledgeDeleted(1, "nothing"),
    ):
        with (
            pytest.raises((TypeError, ValueError, OperationError)),
            harness.world_log.transaction(Origin.AGENT) as transaction,
        ):
            transaction.append(e.KnowledgeSet(1, "b", 1))
            transaction.append(wrong)
        assert harness.world == before == replayed(harness.world_log)


def test_an_append_that_fails_leaves_nothing_and_the_error_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with WorldLog.create(path, name="a") as world_log, WorldLog.open(path) as other:
        populate(world_log)
        with pytest.raises(SequenceConflict), world_log.transaction(Origin.AGENT) as transaction:
            transaction.append(e.KnowledgeSet(1, "mine", 1))
            saying(other, "I was first")
        assert world_log.world == replayed(world_log) == other.world
        assert world_log.world.agents[1].knowledge == {}
        assert world_log.world.messages[max(world_log.world.messages)].content == "I was first"
        saying(world_log, "And I second")
        assert world_log.world == replayed(world_log)


def test_a_world_that_cannot_be_read_after_a_failure_is_made_again_before_the_next_commit(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with WorldLog.create(path, name="a") as world_log:
        populate(world_log)
        expected = replayed(world_log)
        log = world_log.log
        with pytest.raises(StoreError), world_log.transaction(Origin.AGENT) as transaction:
            transaction.append(e.KnowledgeSet(1, "a", 1))
            log.close()
        world_log.log = world_log._snapshots._log = open_log(path)
        with world_log.transaction(Origin.AGENT):
            assert world_log.world == expected


def test_two_books_of_one_log_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with WorldLog.create(path, name="a") as world_log, WorldLog.open(path) as other:
        populate(world_log)
        assert other.refresh() and not other.refresh()
        assert other.world == world_log.world
        saying(world_log, "one")
        saying(other, "two", agent=2)
        saying(world_log, "three", agent=3)
        other.refresh()
        assert other.world == world_log.world == replayed(world_log)


def test_commits_do_not_nest(harness: Any) -> None:
    with (
        pytest.raises(ConfigError, match="under way"),
        harness.world_log.transaction(Origin.AGENT),
        harness.world_log.transaction(Origin.USER),
    ):
        pass
    harness.do(1, say={1: "Hello"})


def test_secrets_are_in_no_event_and_not_in_the_world(tmp_path: Path) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    with WorldLog.create(tmp_path / "world.db", name="a") as world_log:
        populate(world_log)
        with world_log.transaction(Origin.AGENT) as transaction:
            actions = (
                {"type": "set", "path": f"keys.{secret}", "value": {secret: [secret]}},
                {"type": "delete", "path": f"keys.{secret}"},
                {"type": "set", "path": secret, "value": 1},
                {"type": "append", "path": secret, "value": secret},
                {"type": "set_name", "name": secret},
                {"type": "set_billboard", "message": secret},
                {"type": secret, secret: secret},
            )
            execute_reply(
                transaction, world_log.world, 1, 1, ParsedReply(({"room_id": 1, "message": secret},), actions), NOW
            )
        assert world_log.world == replayed(world_log)
        assert world_log.world.rooms[1].billboard == "[redacted:github-token]"
        assert secret not in str(world_log.world)
    assert not [file for file in tmp_path.iterdir() if secret.encode() in file.read_bytes()]


def test_a_path_that_is_too_long_without_its_secret_is_refused_and_breaks_nothing(harness: Any) -> None:
    path = "x" * 180 + ".api_key=" + "abcd12"
    assert "is no path" in harness.refused(1, {"type": "set", "path": path, "value": 1})


# -- the past --------------------------------------------------------------------------------------------------


def test_the_world_as_it_was_after_every_event(make_harness: Callable[..., Any]) -> None:
    harness = make_harness(every=3)
    populate(harness.world_log)
    for n in range(12):
        harness.wait(60)
        harness.do(1 + n % 3, {"type": "set", "path": "n", "value": n}, say={1: f"This is {n}"})
    for seq in range(1, harness.world.seq + 1):
        assert harness.world_log.world_at(seq) == replayed(harness.world_log, seq)
    assert harness.world_log.world_at(harness.world.seq) == harness.world
    for seq in (0, -1, harness.world.seq + 1):
        with pytest.raises(ConfigError, match="has no event"):
            harness.world_log.world_at(seq)


@pytest.mark.slow
def test_opening_reads_a_snapshot_and_not_the_whole_log(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with WorldLog.create(path, name="a", every=10) as world_log:
        populate(world_log)
        for n in range(60):
            saying(world_log, f"{n}", agent=1 + n % 3)
        live, last = world_log.world, world_log.world.seq
    with WorldLog.open(path, every=10) as world_log:
        saved = world_log._snapshots.load(last)
        assert saved is not None and saved.seq == last
        early = world_log._snapshots.load(last // 2)
        assert early is not None and last // 2 * 0.75 < early.seq <= last // 2
        assert world_log.world == live == replayed(world_log)
        saying(world_log, "one more")
        again = world_log._snapshots.load(last + 1)
        assert again is not None and again.seq == last, "what was saved is not saved anew with the next event"


def test_between_snapshots_the_last_one_before_is_read(make_harness: Callable[..., Any]) -> None:
    harness = make_harness(every=2)
    harness.make("Ann")
    first = harness.world.seq
    with harness.world_log.transaction(Origin.AGENT) as transaction:
        for n in range(40):
            transaction.append(e.KnowledgeSet(1, "n", n))
    found = harness.world_log._snapshots.load(first + 30)
    assert found is not None and found.seq == first
    assert harness.world_log.world_at(first + 30) == replayed(harness.world_log, first + 30)


@pytest.mark.slow
def test_a_fork_has_the_same_past_and_its_own_future(tmp_path: Path) -> None:
    with WorldLog.create(tmp_path / "a.db", name="a") as world_log:
        populate(world_log)
        saying(world_log, "before")
        at = world_log.world.seq
        saying(world_log, "after")
        with world_log.fork(tmp_path / "b.db", at) as fork:
            assert fork.world == world_log.world_at(at) == replayed(fork)
            saying(fork, "otherwise", agent=2)
            assert fork.world_at(at) == world_log.world_at(at)
            assert [message.content for message in fork.world.messages.values()][-2:] == ["before", "otherwise"]
            assert [message.content for message in world_log.world.messages.values()][-2:] == ["before", "after"]
            made = next(what for _, what in fork.events())
            assert isinstance(made, e.WorldCreated) and (made.forked_from, made.forked_at) == ("a", at)
        with pytest.raises(ConfigError, match="there is a world"):
            world_log.fork(tmp_path / "b.db")
        with pytest.raises(ConfigError, match="has no event"):
            world_log.fork(tmp_path / "c.db", world_log.world.seq + 1)
        assert not (tmp_path / "c.db").exists()
        with world_log.fork(None) as whole:
            assert whole.world == world_log.world


def test_a_world_that_is_founded_elsewhere_is_saved_there_and_need_not_be_folded(tmp_path: Path) -> None:
    with WorldLog.in_memory(name="a") as trial:
        populate(trial)
        with trial.found_elsewhere(tmp_path / "b.db", every=2) as founded:
            saved = founded._snapshots.load(founded.world.seq)
            assert saved == founded.world == trial.world == replayed(founded)
            saying(founded, "on it goes")
            assert founded.world == replayed(founded) and founded.world.seq == trial.world.seq + 1


def test_what_is_left_out_of_a_copy_is_not_in_what_is_saved_with_it(harness: Any, tmp_path: Path) -> None:
    harness.do(2, say={1: "a thing of Kassandra"})
    redaction = EventDraft("redaction", NOW, 0, Origin.USER, Redact(seq=harness.world.seq))
    harness.world_log.log.append(WORLD_SESSION, [redaction])
    with harness.world_log.found_elsewhere(tmp_path / "b.db", every=2) as copy:
        assert copy._snapshots.load(copy.world.seq) is None
        assert "Kassandra" not in str(copy.world) and copy.world == replayed(copy)


def test_what_rests_on_a_redacted_event_is_passed_over(harness: Any) -> None:
    harness.do(2, say={1: "a thing of Kassandra"})
    seq, message = harness.world.seq, harness.world.next_message - 1
    harness.do(3, {"type": "react", "message_id": message, "reaction": "heart"})
    harness.do(2, say={2: "and another"})
    harness.world_log.log.append(WORLD_SESSION, [EventDraft("redaction", NOW, 0, Origin.USER, Redact(seq=seq))])
    again = WorldLog(harness.world_log.log)
    assert message not in again.world.messages and "Kassandra" not in str(again.world)
    assert again.world.messages[message + 1].content == "and another"
    assert again.world.seq == harness.world.seq + 1
    with again.fork(None) as fork:
        assert [m.content for m in fork.world.messages.values()] == [m.content for m in again.world.messages.values()]
        assert fork.world == replayed(fork)


def test_a_log_whose_events_do_not_follow_is_named_with_the_event(harness: Any) -> None:
    wrong = EventDraft("wrong", NOW, 0, Origin.AGENT, e.ReactionAdded(999, 1, "heart"))
    harness.world_log.log.append(WORLD_SESSION, [wrong])
    with pytest.raises(StoreDamaged, match=f"event {harness.world.seq + 1} of the world does not follow"):
        WorldLog(harness.world_log.log)


# -- any sequence of commits -----------------------------------------------------------------------------------

TEXTS = ("Hello", "@Bob come", "@3 @1", "password: hunter22", "[no response]", "word " * 30, "\ud800x")
VALUES = (
    None,
    1,
    -(2**63),
    2**64,
    0.1,
    -0.0,
    "x",
    [1, {"a": [2]}],
    {"v": 1, "w": 0.5},
    {"b": {}},
    "api_key=abc123def4",
)


def any_action(world: World, agent: int, chance: Random) -> dict[str, Any]:
    """An action that is right more often than not."""
    name = chance.choice(sorted(ACTIONS))
    others = list(world.agents)
    offered: dict[str, Any] = {
        "path": chance.choice(["a", "a.b", "a.b.c", "d", "e.f", "", *world.agents[agent].knowledge]),
        "value": "30%" if name == "set_attention" else chance.choice(VALUES),
        "w": chance.random(),
        "message_id": chance.choice(list(world.messages)),
        "reaction": chance.choice(["thumbs_up", "thumbs_down", "brain", "heart"]),
        "agent_id": chance.choice(others),
        "room_id": chance.choice(others),
        "request_id": chance.choice([*world.rooms[agent].requests, 1]),
        "message": chance.choice(TEXTS),
        "wpm": chance.randint(5, 210),
        "pending_id": chance.choice([*world.agents[agent].pending, 1]),
        "label": chance.choice("kl"),
        "key": "wrong",
        "uses": chance.randint(0, 2),
        "for_agent": chance.choice(others),
        "until": chance.choice(["2027-01-15T08:20:00Z", "2090-01-01T00:00:00", "soon"]),
        "name": chance.choice(["Ann", "Bob", f"A{chance.randint(1, 99)}", "api_key=abc123def456", ""]),
        "background_prompt": chance.choice(TEXTS),
        "agent_type": chance.choice(["persona", "bot"]),
        "in_room_id": chance.choice(world.agents[agent].rooms),
        "model": "m",
    }
    known = ACTIONS[name].arguments.__struct_fields__
    return {"type": name, **{key: offered[key] for key in offered if key in known and chance.random() < 0.9}}


class Torn(Exception):
    pass


class Simulation:
    """Beats of a world by chance; some commits hold several, and some break."""

    def __init__(self, seed: int, every: int) -> None:
        self.chance, self.now = Random(seed), NOW
        self.requests: list[dict[str, Any]] = []
        bits = iter(range(1, 10_000))
        self.world_log = WorldLog.in_memory(every=every, clock=lambda: self.now, secret=lambda: f"{next(bits):048x}")
        populate(self.world_log)

    def transaction(self) -> None:
        self.now += self.chance.randint(-5_000, 40_000)
        torn = self.chance.random() < 0.2
        with suppress(Torn), self.world_log.transaction(Origin.AGENT) as transaction:
            for _ in range(self.chance.randint(1, 3)):
                self.beat(transaction)
            if torn:
                raise Torn
        for agent in list(self.world_log.world.agents):
            self.requests += [json.loads(text[text.index("{") :]) for text in self.world_log.take_whispers(agent)]

    def beat(self, transaction: Transaction) -> None:
        world, chance = self.world_log.world, self.chance
        agent = chance.choice([one.id for one in world.agents.values() if not one.retired])
        actions = [any_action(world, agent, chance) for _ in range(chance.randint(0, 3))]
        actions += chance.sample(self.requests, min(1, len(self.requests)))
        said = [{"room_id": chance.choice(world.agents[agent].rooms), "message": chance.choice(TEXTS)}]
        transaction.append(e.BeatBegun(agent, 1, self.now, self.now, "", 10, "json", "m"))
        reply = parse_reply(json.dumps({"responses": said, "actions": actions}))
        execute_reply(transaction, world, agent, 1, reply, self.now)
        transaction.append(e.BeatFinished(agent, 1, self.now + 5000))


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 30))
def test_replay_is_the_live_state(seed: int, every: int) -> None:
    sim = Simulation(seed, every)
    world_log = sim.world_log
    for _ in range(12):
        sim.transaction()
        assert world_log.world == replayed(world_log)
    assert WorldLog(world_log.log, every=every).world == world_log.world
    seq = sim.chance.randint(1, world_log.world.seq)
    assert world_log.world_at(seq) == replayed(world_log, seq) == world_log.fork(None, seq).world


@pytest.mark.slow
def test_the_plays_by_chance_carry_every_action_out() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        sim = Simulation(seed, 20)
        for _ in range(12):
            sim.transaction()
        assert sim.world_log.world == replayed(sim.world_log) == WorldLog(sim.world_log.log, every=20).world
        seen.update(what.action["type"] for _, what in sim.world_log.events() if isinstance(what, e.ActionApplied))
    assert set(ACTIONS) - set(seen) == set()


def test_events_in_which_nobody_looks_for_secrets_have_no_words() -> None:
    unsearched = [kind for kind in e.EVENT_TYPES.values() if not kind.HAS_WORDS]
    texts = {field.name for kind in unsearched for field in msgspec.structs.fields(kind) if "str" in str(field.type)}
    # A digest of ours, and the name of a model that an event with words has set.
    assert unsearched and texts == {"hud", "model"}
