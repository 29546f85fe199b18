"""`hudkit rooms`: a world is made, played, spoken to, looked at, checked, forked and exported from the shell."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudkit.cli import main
from hudkit.cli.rooms.new import removed_unless_finished
from hudkit.cli.rooms.worlds import agent_of
from hudkit.errors import ConfigError
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

TWO = """
name = "pair"
seed = 3
[rules.tempo]
quiet = 30
[[agents]]
name = "Ann"
background = "Old maps, rivers and roads."
rooms = ["Bob"]
knowledge = { goals = ["draw the valley"] }
[[agents]]
name = "Bob"
kind = "bot"
background = "The weather: rain and wind."
billboard = "Weather desk"
wpm = 120
[[messages]]
room = "Bob"
text = "Will it rain?"
"""


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`rooms("show", ...)` gives the exit code, the output and the error output."""
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))

    def call(*argv: object) -> tuple[int, str, str]:
        try:
            code = main(["rooms", *map(str, argv)])
        except SystemExit as stopped:  # argparse ends so
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def pair(rooms: Run, tmp_path: Path) -> Path:
    """The world of two, founded from a file."""
    file = tmp_path / "pair.toml"
    file.write_text(TWO)
    code, out, err = rooms("new", "--file", file)
    assert code == 0, err
    assert "2 agents (Ann, Bob)" in out and "no language model" in out
    return tmp_path / "data" / "worlds" / "pair.db"


def facts(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_the_island_lives(rooms: Run) -> None:
    assert rooms("new")[0] == 0
    code, out, err = rooms("run", "--beats", "25", "--fast")
    assert code == 0 and "improviser (rules and chance" in err
    assert re.search(r"\[Maren, 1\] #\d+ \w+ \(\d\)", out)
    assert re.search(r"^25 beats in .*; \d+ skipped because nothing was new$", out, re.MULTILINE)
    shown = facts(rooms("show", "--json"))
    kinds = [agent["kind"] for agent in shown["agents"].values()]
    assert (kinds.count("persona"), kinds.count("bot"), shown["beats"]) == (3, 2, 25)
    assert facts(rooms("replay", "--json"))["same"] == 25


def test_a_world_from_a_file_is_as_the_file_says(rooms: Run, pair: Path) -> None:
    with WorldLog.open(pair, read_only=True) as world_log:
        world = world_log.world
        ann, bob = world.agents[1], world.agents[2]
        assert (world.name, world.seed, world.rules.tempo.quiet) == ("pair", 3, 30)
        assert (ann.kind, bob.kind, ann.knowledge) == ("persona", "bot", {"goals": ["draw the valley"]})
        assert ann.rooms == [1, 2] and world.rooms[2].wpm == 120 and world.rooms[2].billboard == "Weather desk"
        assert world.messages[world.rooms[2].messages[-1]].content == "Will it rain?"


@pytest.mark.parametrize(
    ("was", "wrong", "said"),
    [
        ("seed = 3", "sead = 3", "has no key 'sead'. Did you mean 'seed'?"),
        ("quiet = 30", "quite = 30", "[rules.tempo] has no key 'quite'. Did you mean 'quiet'?"),
        ("wpm = 120", "wps = 120", "[agents, number 2] has no key 'wps'. Did you mean 'wpm'?"),
        ('rooms = ["Bob"]', 'rooms = ["Rob"]', "names the room of 'Rob'. Did you mean 'Bob'?"),
        ('kind = "bot"', 'kind = "robot"', "agents[1].kind"),
        ('name = "Bob"', 'name = "Ann"', "the room of 'Bob'"),
        ('name = "Ann"', 'name = "System"', "agent 1: 'System' cannot be a name"),
        ("seed = 3", "seed = ", "line 3, column 8"),
        ("wpm = 120", "wpm = 900", "agent 2: "),
    ],
)
def test_a_wrong_file_is_named_and_makes_nothing(rooms: Run, tmp_path: Path, was: str, wrong: str, said: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(TWO.replace(was, wrong))
    code, out, err = rooms("new", "--file", file)
    assert (code, out) == (2, "") and "wrong.toml" in err and said in err, err
    assert not list((tmp_path / "data").rglob("*.db"))


def test_prompts_of_ones_own_are_in_the_world(rooms: Run, tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    assert rooms("new", "--write-prompts", folder)[0] == 0
    (folder / "directives" / "rooms.md").write_text("A room is a boat.")
    assert rooms("new", "--prompts", folder, "--seed", "5")[0] == 0
    code, out, _ = rooms("show", "Maren", "--format", "json")
    assert code == 0 and "A room is a boat." in out
    (folder / "directives" / "rooms.md").write_text("{{nothing}}")
    code, _, err = rooms("new", "other", "--prompts", folder)
    assert code == 2 and "rooms.md:1" in err


def test_prompts_of_a_world_are_shown_written_and_changed_while_it_goes_on(rooms: Run, tmp_path: Path) -> None:
    assert rooms("new")[0] == 0
    assert rooms("run", "--beats", "10", "--fast", "--quiet")[0] == 0
    folder = tmp_path / "told"
    assert "21 prompts written" in rooms("prompts", "--write", folder)[1]
    code, out, _ = rooms("prompts", "--read", folder)
    assert code == 0 and "nothing to change" in out
    (folder / "directives" / "rooms.md").write_text("A room is a boat.")
    before = facts(rooms("show", "--json"))["seq"]
    changed = facts(rooms("prompts", "--read", folder, "--json"))
    assert changed["changed"] == ["directives.rooms"] and changed["seq"] == before + 1
    listed = {one["name"]: one for one in facts(rooms("prompts", "--json"))["prompts"]}
    assert len(listed) == 21 and not listed["directives.rooms"]["hudkits"]
    assert (listed["directives.rooms"]["seq"], listed["memory.full"]["seq"]) == (before + 1, 1)
    assert "your own, since event" in rooms("prompts")[1]
    assert rooms("run", "--beats", "10", "--fast", "--quiet")[0] == 0
    found = facts(rooms("replay", "--json"))
    assert found["sound"] and found["same"] == 20, "old beats with old prompts, new ones with new ones"
    assert "A room is a boat." in rooms("show", "Maren")[1]
    assert "A room is a boat." not in rooms("show", "Maren", "--at", before)[1]


def test_prompts_that_cannot_be_change_nothing(rooms: Run, tmp_path: Path) -> None:
    assert rooms("new")[0] == 0
    folder = tmp_path / "told" / "directives"
    folder.mkdir(parents=True)
    for text, said in (("{{nothing}}", ".md:1: there is no place"), ("row your boat " * 560, "HUD need")):
        for name in ("rooms", "collaboration", "communication"):
            (folder / f"{name}.md").write_text(text)
        for argv in (("prompts", "--read", folder.parent), ("new", "other", "--prompts", folder.parent)):
            code, out, err = rooms(*argv)
            assert (code, out) == (2, "") and said in err, err
    assert facts(rooms("show", "--json"))["seq"] == 31 and "is not a folder" in rooms("prompts", "--read", "/nope")[2]
    assert not (tmp_path / "data" / "worlds" / "other.db").exists()


def test_the_architect_speaks_and_agents_hear(rooms: Run, pair: Path) -> None:
    said = facts(rooms("say", "bob", "A question for you: what about fog?", "--json"))
    assert said["room"] == 2
    assert rooms("run", "--beats", "10", "--fast", "--quiet")[0] == 0
    _, text, _ = rooms("export", "--room", "Bob")
    assert f"#{said['message']} The Architect: A question for you" in text
    code, _, err = rooms("say", "Bop", "hello")
    assert code == 2 and "Did you mean 'Bob'?" in err


@pytest.mark.parametrize("form", ["json", "compact", "toon", "markdown"])
def test_an_agent_is_shown_what_it_sees_in_any_format(rooms: Run, pair: Path, form: str) -> None:
    code, out, _ = rooms("show", "Ann", "--format", form)
    assert code == 0 and "Will it rain?" in out and "draw the valley" in out
    assert re.search(r"^-- Ann \(1\), event \d+: [\d,]+ of 10,000 tokens", out, re.MULTILINE)
    whole = facts(rooms("show", "1", "--format", form, "--json"))
    assert "Will it rain?" in whole["text"] and whole["agent"] == 1


def test_the_past_is_shown_and_forked(rooms: Run, pair: Path) -> None:
    with WorldLog.open(pair) as world_log:
        seq = world_log.world.seq
        Architect(world_log).say(1, "Later.")
    assert "Later." not in rooms("show", "Ann", "--at", seq)[1] and "Later." in rooms("show", "Ann")[1]
    assert facts(rooms("fork", "before", "--at", seq, "--world", "pair", "--json"))["events"] == seq
    assert "Later." not in rooms("export", "--world", "before")[1]
    code, out, _ = rooms("fork", "hence", "--at", seq, "--world", "pair")
    assert code == 0 and out.startswith("hence: 2 agents") and f"a fork of pair at event {seq}" in out
    assert "hudkit rooms serve --world hence" in out and rooms("show", "--world", "hence")[1].startswith("hence:")
    assert rooms("run", "--world", "before", "--beats", "4", "--fast", "--quiet")[0] == 0
    assert "Later." in rooms("export", "--world", "pair")[1]
    code, _, err = rooms("fork", "after", "--at", 10_000, "--world", "pair")
    assert code == 2 and "Its events go from 1 to" in err and not (pair.parent / "after.db").exists()
    assert rooms("fork", "before", "--world", "pair")[0] == 2, "a world is never written over"


def test_a_log_that_gives_other_huds_is_said(rooms: Run, pair: Path) -> None:
    from hudkit.log import Origin
    from hudkit.rooms import world_events as e

    with WorldLog.open(pair) as world_log, world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, world_log.world.now, world_log.world.now, "00", 5, "json", "improviser"))
    code, out, _ = rooms("replay")
    assert code == 1 and "1 of 1 HUDs came out otherwise" in out and "beat 1 of agent 1" in out


def test_export_writes_a_new_private_file(rooms: Run, pair: Path, tmp_path: Path) -> None:
    file = tmp_path / "pair.jsonl"
    code, out, _ = rooms("export", "--format", "jsonl", "--output", file)
    lines = file.read_text().splitlines()
    assert code == 0 and f"{len(lines)} lines" in out and json.loads(lines[0])["type"] == "world.made"
    assert file.stat().st_mode & 0o777 == 0o600
    assert rooms("export", "--output", file)[0] == 2 and len(file.read_text().splitlines()) == len(lines)


def test_an_export_that_cannot_be_says_why(rooms: Run, pair: Path, tmp_path: Path) -> None:
    last = facts(rooms("show", "--json"))["seq"]
    for seq in (0, last + 1):
        code, out, err = rooms("export", "--until", seq)
        assert (code, out) == (2, "") and f"Its events go from 1 to {last}" in err
    code, _, err = rooms("export", "--output", tmp_path / "nowhere" / "x")
    assert code == 2 and "cannot be written: No such file or directory" in err
    assert rooms("export", "--until", last)[0] == 0


def test_one_of_something_is_not_several(rooms: Run, pair: Path) -> None:
    assert rooms("say", "Ann", "Hello")[0] == 0
    assert ", 2 messages, 4 words\n" in rooms("show")[1], "what the system said is no message of anybody's"
    assert facts(rooms("fork", "lone", "--at", 1, "--json"))["events"] == 1
    assert "1 event\n" in rooms("fork", "lonely", "--at", 1, "--world", "pair")[1]
    _, out, _ = rooms("run", "--beats", "1", "--fast", "--world", "pair")
    assert re.search("^1 beat in ", out, re.MULTILINE)


def test_hostile_text_is_shown_and_not_sent(rooms: Run, pair: Path) -> None:
    with WorldLog.open(pair) as world_log:
        Architect(world_log).say(1, "\x1b[2Jgone \u202e and\nmore")
        Architect(world_log).set_billboard(1, "\x1b]0;title\x07")
    agent = [("show", "Ann", "--format", form) for form in ("json", "toon", "markdown")]
    for argv in (("show",), *agent, ("export",)):
        code, out, _ = rooms(*argv)
        assert code == 0 and not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", out), argv


def test_a_run_ends_after_its_time_and_counts(rooms: Run, pair: Path) -> None:
    found = facts(rooms("run", "--for", "5m", "--fast", "--json"))
    assert 300 <= found["seconds"] < 360 and found["beats"] > 5 and found["skipped"] > 0
    assert found["words"] and found["said"] and found["cost"] == 0
    assert sum(one["messages"] for one in found["said"]) == found["messages"]


def test_a_world_that_pauses_by_itself_ends_the_run(rooms: Run, pair: Path) -> None:
    from hudkit.rooms.world import CapRules, WorldRules

    with WorldLog.open(pair) as world_log:
        Architect(world_log).set_rules(WorldRules(caps=CapRules(beats_without_people=6)))
    found = facts(rooms("run", "--for", "2h", "--fast", "--json"))
    assert found["stopped"].startswith("paused: alone") and found["beats"] == 6
    code, _, err = rooms("run", "--beats", "1", "--fast")
    assert code == 2 and "--resume lets it go on" in err
    assert facts(rooms("run", "--beats", "2", "--fast", "--resume", "--json"))["beats"] == 2


@pytest.mark.slow
def test_a_model_is_named_for_all_and_a_wrong_one_is_no_model(rooms: Run, pair: Path) -> None:
    code, _, err = rooms("run", "--model", "gpt", "--beats", "1")
    assert code == 2 and "'gpt' is not a model" in err
    code, _, err = rooms("run", "--model", "nobody:x", "--beats", "2", "--fast", "--quiet")
    assert code == 2 and "nobody:x cannot play" in err
    shown = facts(rooms("show", "--json"))
    assert "nobody:x" not in {agent["model"] for agent in shown["agents"].values()}
    assert not any(agent["beats"] for agent in shown["agents"].values())
    assert rooms("run", "--model", "improviser", "--beats", "2", "--fast", "--quiet")[0] == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("show",), "there is no world yet. Make one: hudkit rooms new"),
        (("show", "--world", "../x y"), "there is no world in ../x y"),
        (("new", "a b"), "'a b' is not a name for a world"),
        (("serve", "--host", "0.0.0.0"), "can be reached by other machines"),
        (("run", "--beats", "none"), "is not a number of beats"),
        (("run", "--for", "soon"), "is not a length of time; try 90s"),
        (("run", "--requests-a-minute", "0"), "'0' is not a limit; give a whole number from 1"),
        (("new", "--seed", "-4"), "'-4' is not a seed; give a whole number from 0"),
        (("show", "--at", "-1"), "'-1' is not a number; give a whole number"),
        (("prompts", "--read", "a", "--write", "b"), "not allowed with"),
        (("show", "--fromat", "toon"), "Did you mean '--format'?"),
        (("shwo",), "there is no 'shwo'. Did you mean 'show'?"),
    ],
)
def test_what_cannot_be_done_says_what_would_be_right(rooms: Run, argv: tuple[str, ...], said: str) -> None:
    code, out, err = rooms(*argv)
    assert (code, out) == (2, "") and said in err, err


def test_a_model_is_asked_no_more_in_a_minute_than_was_said(
    rooms: Run, pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hudkit.models.scripted_answers import says
    from hudkit.rooms import world_events as e
    from hudkit.testing.model_server import ScriptedModel

    with ScriptedModel(otherwise=says('{"responses": [{"room_id": 1, "message": "And then?"}]}')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
        given = ("--model", "openai-chat:gpt-4o", "--beats", "9", "--fast", "--json")
        found = facts(rooms("run", *given, "--requests-a-minute", 3))
        assert len(server.requests) == 9
    assert found["late_most"] > 20 and found["messages"] and found["cost"] > 0
    with WorldLog.open(pair, read_only=True) as world_log:
        times = [what.composed_at for _, what in world_log.events() if isinstance(what, e.BeatBegun)]
    assert max(sum(at <= one < at + 60_000 for one in times) for at in times) == 3


def test_limits_of_answers_and_of_silence_reach_the_server(
    rooms: Run, pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hudkit.models.scripted_answers import Hang, says
    from hudkit.testing.model_server import ScriptedModel

    config = tmp_path / "config.toml"
    monkeypatch.setenv("HUDKIT_CONFIG", str(config))
    with ScriptedModel((says("{}"), Hang(30)), otherwise=says("{}")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
        config.write_text("[rooms]\nanswer_tokens = 321\nsilence_seconds = 0.4\n")
        found = facts(rooms("run", "--model", "openai-chat:gpt-4o", "--beats", "2", "--fast", "--json"))
        limits = [
            {request.body.get("max_tokens"), request.body.get("max_completion_tokens")} for request in server.requests
        ]
        assert limits == [{None, 321}, {None, 321}]
        assert found["errors"] == 1, "who says nothing for so long is given up"
        config.write_text("[rooms]\nanswer_tokens = 654\n")
        facts(rooms("run", "--beats", "1", "--fast", "--json"))
        assert 654 in server.requests[-1].body.values()
    with WorldLog.open(pair, read_only=True) as world_log:
        errors = [what.error for _, what in world_log.events() if isinstance(what, e.ReplyReceived) and what.error]
    assert len(errors) == 1 and "model-unreachable" in errors[0]


def test_of_several_worlds_it_is_the_one_that_changed_last(rooms: Run, pair: Path) -> None:
    assert rooms("new")[0] == 0
    for name in ("pair", "island"):
        ahead = time.time() + (60 if name == "pair" else 120)
        for file in pair.parent.glob(f"{name}.db*"):
            os.utime(file, (ahead, ahead))
        code, out, err = rooms("show")
        assert code == 0 and out.startswith(f"{name}:") and f"the world {name}; others" in err
    assert "Did you mean 'pair'?" in rooms("show", "--world", "piar")[2]


@pytest.mark.slow
def test_serve_shows_a_living_world_offline(tmp_path: Path) -> None:
    """A fresh data directory, one command: a page that asks for its token, and five agents who speak."""
    command = [sys.executable, "-m", "hudkit", "rooms", "serve", "--model", "improviser"]
    env = {**os.environ, "HUDKIT_DATA": str(tmp_path / "data")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = {}
            while "token" not in told:
                line = process.stdout.readline()
                assert line, process.communicate()
                name, _, value = line.partition(":")
                told[name] = value.strip()
            address, token = told["page"], told["token"]
            assert token not in address
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with pytest.raises(urllib.error.HTTPError, match="401"):
                opener.open(address)
            opener.open(f"{address}login", f"token={token}".encode()).read()
            path = tmp_path / "data" / "worlds" / "island.db"
            for _ in range(2400):
                with WorldLog.open(path, read_only=True) as world_log:
                    said = [one for one in world_log.world.messages.values() if one.kind == "text"]
                if len(said) >= 3:
                    break
                time.sleep(0.25)
            page = opener.open(address).read().decode()
            assert len(said) >= 3 and "Maren" in page and "Weatherglass" in page
            csrf = re.findall(r'name="csrf" value="([^"]+)"', page)[0]

            def send(action: str, **fields: str) -> str:
                form = urllib.parse.urlencode({"csrf": csrf, "look": "", **fields})
                return opener.open(f"{address}do/{action}", form.encode()).read().decode()

            forked = send("fork", name="other", seq="40")
            assert "<h1>other</h1>" in forked and (path.parent / "other.db").exists()
            assert "is not a name for a world" in send("fork", name="../other", seq="40")
            assert "there is a file" in send("fork", name="other", seq="40")
            assert "<h1>island</h1>" in send("open", world="island")
            assert "other" in opener.open(f"{address}worlds").read().decode()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    with WorldLog.open(path, read_only=True) as world_log:
        assert not any(agent.current_beat for agent in world_log.world.agents.values())


@pytest.mark.parametrize("ignored", [False, True], ids=["from a terminal", "as a script's background job"])
def test_serving_that_is_stopped_right_after_its_token_was_printed_ends_with_130(
    tmp_path: Path, ignored: bool
) -> None:
    command = [sys.executable, "-m", "hudkit", "rooms", "serve"]
    # A shell starts background jobs with SIGINT ignored, and a process hands that on to those that it starts.
    inherited = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, "HUDKIT_DATA": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        if inherited is not None:
            signal.signal(signal.SIGINT, inherited)
    with process:
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("token"):
            assert line, process.communicate()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and errors.endswith("\nstopped\n") and "Traceback" not in errors, errors


def test_a_world_in_which_nobody_lives_is_served_so_that_somebody_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    WorldLog.create(path, name="empty").close()
    command = [sys.executable, "-m", "hudkit", "rooms"]
    environment = {**os.environ, "HUDKIT_DATA": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    refused = subprocess.run(
        [*command, "run", "--world", str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "nobody lives in this world. hudkit rooms serve" in refused.stderr
    served = subprocess.Popen([*command, "serve", "--world", str(path)], env=environment, stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        said = [served.stdout.readline().decode() for _ in range(2)]
    finally:
        served.terminate()
        served.communicate()
    assert said[0] == "empty: 0 agents, nobody lives there\n" and said[1].startswith("page:  http://")


def test_of_namesakes_the_one_that_lives_is_meant(tmp_path: Path) -> None:
    with WorldLog.create(tmp_path / "w.db", name="w") as world_log:
        architect = Architect(world_log)
        for name in ("Ann", "Bob"):
            architect.make_agent("persona", name, "You are here.", "improviser")
        architect.retire(2)
        assert agent_of(world_log.world, "bob").id == 2
        architect.alter(1, name="Bob")
        assert agent_of(world_log.world, "bob").id == 1
        with pytest.raises(ConfigError, match="no agent '²'"):
            agent_of(world_log.world, "²")


def test_to_resume_a_fast_world_leaves_its_time_where_it_stood(rooms: Run, pair: Path, tmp_path: Path) -> None:
    rooms("new", "--file", pair)
    with WorldLog.open(tmp_path / "data" / "worlds" / "pair.db") as world_log:
        architect = Architect(world_log, lambda: world_log.world.now)
        architect.set_speed(10)
        architect.pause()
        before = world_log.world.now
    time.sleep(0.2)
    assert rooms("run", "--world", "pair", "--resume", "--beats", 1, "--fast", "--quiet")[0] == 0
    with WorldLog.open(tmp_path / "data" / "worlds" / "pair.db") as world_log:
        resumed = [event.timestamp for event, what in world_log.events() if isinstance(what, e.WorldResumed)]
    assert resumed[0] - before < 150


def test_a_world_that_is_not_finished_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "half.db"
    with pytest.raises(KeyboardInterrupt), removed_unless_finished(path):
        WorldLog.create(path, name="half").close()
        assert path.exists()
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_interrupted_run_sums_up_and_leaves_a_whole_world(rooms: Run, pair: Path) -> None:
    command = [sys.executable, "-u", "-m", "hudkit", "rooms", "run", "--for", "900d", "--fast"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "Ann (1):" not in (line := process.stdout.readline()):
            assert line, process.communicate()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "ended: interrupted" in out and "beats in" in out
    found = facts(rooms("replay", "--json"))
    assert found["sound"] and found["beats"]


def test_words_reach_a_world_that_another_process_plays(rooms: Run, pair: Path) -> None:
    """One writer has the world open and plays; what is said meanwhile is in it."""
    import asyncio

    from hudkit.rooms.players import open_players
    from hudkit.rooms.scheduler import SimulatedClock, WorldRunner

    with WorldLog.open(pair) as world_log:
        runner = WorldRunner(world_log, open_players(), clock=SimulatedClock(world_log.world.now))
        asyncio.run(runner.run(beats=3))
        number = facts(rooms("say", "Ann", "Are you there?", "--json"))["message"]
        asyncio.run(runner.run(beats=4))
        assert world_log.world.messages[number].content == "Are you there?"


def test_a_damaged_event_of_a_world_is_left_out_and_named(rooms: Run, pair: Path, tmp_path: Path) -> None:
    assert rooms("run", "--beats", "8", "--fast", "--quiet", "--world", "pair")[0] == 0
    before = facts(rooms("show", "--json", "--world", "pair"))
    with sqlite3.connect(pair) as db:
        sql = "SELECT min(seq) FROM events WHERE type = 'message.said' AND seq > 10"
        damaged = db.execute(sql).fetchone()[0]
        db.execute("UPDATE events SET body = CAST(replace(body, 'e', 'f') AS BLOB) WHERE seq = ?", (damaged,))
    code, out, err = rooms("show", "--json", "--world", "pair")
    assert code == 1 and f"left out: event {damaged}; to mend it: hudkit repair --db {pair}" in err
    world = json.loads(out)
    assert world["seq"] == before["seq"] and world["said"] < before["said"]
    assert rooms("show", "--at", damaged - 1, "--world", "pair")[0] == 0
    code, out, err = rooms("export", "--format", "jsonl", "--until", damaged - 1, "--world", "pair")
    assert code == 0 and json.loads(out.splitlines()[-1])["seq"] == damaged - 1 and "damaged" in err
    code, out, _ = rooms("export", "--format", "jsonl", "--world", "pair")
    assert code == 1 and damaged not in [json.loads(line)["seq"] for line in out.splitlines()]
    assert facts(rooms("fork", "sound", "--at", damaged - 1, "--world", "pair", "--json"))["events"] == damaged - 1
    assert rooms("fork", "rest", "--world", "pair")[0] == 0
    assert rooms("show", "--world", "rest")[0] == 0, "the fork is whole"
    code, _, err = rooms("run", "--beats", "4", "--fast", "--quiet", "--world", "pair")
    assert code == 0 and "damaged" in err
    assert json.loads(rooms("show", "--json", "--world", "pair")[1])["seq"] > before["seq"]


@pytest.mark.parametrize("kind", ["message.said", "agent.made", "world.made"])
def test_a_world_is_repaired_and_goes_on(
    kind: str, rooms: Run, pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the rest of a world rests on what is lost."""
    assert rooms("run", "--beats", "12", "--fast", "--quiet", "--world", "pair")[0] == 0
    whole = facts(rooms("show", "--json", "--world", "pair"))
    lines = rooms("export", "--format", "jsonl", "--world", "pair")[1].splitlines()
    with sqlite3.connect(pair) as db:
        damaged = db.execute("SELECT min(seq) FROM events WHERE type = ?", (kind,)).fetchone()[0]
        db.execute("UPDATE events SET body = CAST(replace(body, 'e', 'f') AS BLOB) WHERE seq = ?", (damaged,))
        db.execute("DELETE FROM snapshots")  # a world that was saved behind the damage is whole
    db.close()
    before = rooms("show", "--json", "--world", "pair")
    assert before[0] != 0
    assert main(["repair", "--db", str(pair)]) == 0
    assert f"event {damaged} ({kind})" in capsys.readouterr().out
    assert main(["verify", "--db", str(pair)]) == 0 and list(pair.parent.glob("pair.db.before-repair-*"))
    capsys.readouterr()
    code, out, err = rooms("show", "--json", "--world", "pair")
    world = json.loads(out)
    assert (code, err) == (0, "") and {**world, "file": ""} == {**json.loads(before[1]), "file": ""}
    assert world["seq"] == whole["seq"]
    code, out, _ = rooms("export", "--format", "jsonl", "--world", "pair")
    kept = [line for line in out.splitlines() if json.loads(line)["seq"] != damaged]
    assert code == 0 and kept == [line for line in lines if json.loads(line)["seq"] != damaged]
    report = json.loads(rooms("replay", "--json", "--world", "pair")[1])
    assert report["state"] is True and report["gone"] == 1, "HUDs that showed what is lost come out otherwise"
    assert rooms("fork", "again", "--world", "pair")[0] == 0
    assert rooms("run", "--beats", "4", "--fast", "--quiet", "--world", "pair")[0] == 0
    assert facts(rooms("show", "--json", "--world", "pair"))["seq"] > whole["seq"]


def test_a_run_walks_what_it_has_in_a_few_collections(rooms: Run) -> None:
    frozen: list[int] = []
    over = threading.Event()

    def collect() -> None:
        while not over.wait(0.01):
            gc.collect()
            frozen.append(gc.get_freeze_count())

    collecting = threading.Thread(target=collect)
    collecting.start()
    try:
        assert rooms("new")[0] == 0
        assert rooms("run", "--beats", "50", "--fast", "--quiet")[0] == 0
    finally:
        over.set()
        collecting.join()
    assert max(frozen) > 0
    assert gc.get_freeze_count() == 0
