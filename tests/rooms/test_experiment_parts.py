"""The parts of an experiment: variants, interventions, scripts, models that are asked once, the cap, the report."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hudkit.cli import main
from hudkit.errors import ConfigError
from hudkit.models.scripted_answers import ScriptedReply, says
from hudkit.rooms import world_events as e
from hudkit.rooms.experiments.experiment_file import read_experiment
from hudkit.rooms.experiments.play_run import STOPPED, RunFiles, play_run
from hudkit.rooms.experiments.run_tables import RunTables
from hudkit.rooms.world_log import WorldLog
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

PAIR = """
name = "pair"
seed = 3
[rules.tempo]
quiet = 10
[[agents]]
name = "Ann"
background = "Old maps, rivers and roads."
rooms = ["Bob"]
[[agents]]
name = "Bob"
background = "The weather: rain and wind."
"""

LINES = """
[[lines]]
agent = "Ann"
say = { Bob = "I am for RAIN." }
[[lines]]
agent = "Ann"
actions = [{ type = "react", message_id = 1, reaction = "brain" }]
[[lines]]
agent = "Bob"
reply = "no JSON at all {"
[[lines]]
agent = "Bob"
actions = [{ type = "set", path = "vote", value = "WIND" }]
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(text)` gives the path of an experiment's file, beside the founding and a script."""

    def write(text: str, founding: str = PAIR) -> Path:
        (tmp_path / "pair.toml").write_text(founding)
        (tmp_path / "lines.toml").write_text(LINES)
        file = tmp_path / "trial.toml"
        file.write_text(f'name = "trial"\nworld = "pair.toml"\n{text}')
        return file

    return write


def play(file: Path, variant: int = 0) -> tuple[RunTables, WorldLog]:
    """The first run of a variant, played in this process: its tables and its log."""
    experiment = read_experiment(file)
    chosen, seed = experiment.variants[variant], experiment.seeds[0]
    folder = file.parent / "results"
    asyncio.run(play_run(experiment, chosen, seed, folder, lambda *_: None, asyncio.Event()))
    files = RunFiles(folder, chosen.name, seed)
    record = files.record()
    assert record is not None and record.tables is not None
    return record.tables, WorldLog.open(files.world, read_only=True)


def events_of(world_log: WorldLog, kind: type[Any]) -> list[Any]:
    return [event for _, event in world_log.events() if isinstance(event, kind)]


# -- the file ------------------------------------------------------------------------------------------------------


def test_a_variant_changes_what_its_paths_name(write: Write) -> None:
    experiment = read_experiment(
        write(
            """
            beats = 5
            seeds = [4, 9]
            [[variants]]
            name = "a"
            [[variants]]
            name = "b"
            model = "openai:gpt-5-mini"
            temperature = 0.2
            max_output = 300
            [variants.set]
            "agents.*.interval" = 2
            "agents.bob.model" = "improviser"
            "agents.1.effort" = "low"
            "rules.words.wpm" = 99
            """
        )
    )
    first, second = (variant.founding for variant in experiment.variants)
    assert [seed for _, seed in experiment.runs()] == [4, 4, 9, 9]
    assert (first.model, first.agents[0].interval, first.rules.words.wpm) == ("improviser", None, 80)
    assert (second.model, second.agents[1].model, second.rules.words.wpm) == ("openai:gpt-5-mini", "improviser", 99)
    assert [agent.interval for agent in second.agents] == [2, 2] and second.agents[0].effort == "low"
    assert (second.answers.temperature, second.answers.max_output) == (0.2, 300)


@pytest.mark.parametrize(
    ("text", "says_so"),
    [
        ("seeds = 2", "how long"),
        ("beats = 2\nseed = 2", "Did you mean 'seeds'"),
        ('beats = 2\n[[variants]]\nname = "a"\nset = { "agents.Anne.model" = "x" }', "'Anne'"),
        ('beats = 2\n[[variants]]\nname = "a"\nset = { "rules.tempo.quite" = 2 }', "Did you mean 'quiet'"),
        ('beats = 2\n[[variants]]\nname = "a b"\n[[variants]]\nname = "A-B"', "two variants"),
        ('beats = 2\n[[interventions]]\nsay = { room = "Ann", text = "x" }', "either a beat or a minute"),
        ('beats = 2\n[[interventions]]\nbeat = 1\nsay = { room = "Cid", text = "x" }', "nobody is called 'Cid'"),
        ("beats = 2\n[[interventions]]\nbeat = 1", "does nothing"),
        ("beats = 2\nseeds = [1, 1]", "twice"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(write: Write, text: str, says_so: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_experiment(write(text))
    assert says_so in f"{refused.value} {refused.value.hint}"


# -- one run -------------------------------------------------------------------------------------------------------


def test_interventions_happen_at_their_beats_and_minutes(write: Write) -> None:
    tables, world_log = play(
        write(
            """
            beats = 30
            [[interventions]]
            beat = 4
            say = { room = "Ann", text = "Who keeps the maps?" }
            [[interventions]]
            beat = 6
            admit = { agent = "Bob", room = "Ann" }
            [[interventions]]
            minute = 0.5
            alter = { agent = "Bob", background = "Storms.", answers = { temperature = 0.1 } }
            [[interventions]]
            minute = 0.6
            fail = { model = "improviser", beats = 2 }
            [[interventions]]
            beat = 8
            admit = { agent = "Bob", room = "Ann" }
            """
        )
    )
    with world_log:
        story = [event for _, event in world_log.events()]
        beats = [index for index, event in enumerate(story) if isinstance(event, e.BeatBegun)]
        made = {event.number: index for index, event in enumerate(story) if isinstance(event, e.InterventionMade)}
        before = {number: sum(beat < index for beat in beats) for number, index in made.items()}
        assert (before[1], before[2], before[5]) == (4, 6, 8), "before the beat behind"
        assert isinstance(story[made[1] + 1], e.RoomJoined | e.MessagePosted), "in the same transaction"
        bob = world_log.world.agents[2]
        assert (bob.background, bob.answers.temperature) == ("Storms.", 0.1)
        assert (
            sum(bool(event.error) for event in events_of(world_log, e.ReplyReceived))
            == 2
            == tables.figures["failed beats"]
        )
        assert "not done: agent 2 is in room 1" in story[made[5]].text
        assert [0.5 <= minute < 0.51 for minute, text in tables.interventions if "alter" in text] == [True]


def test_lines_are_said_by_the_number_of_the_beat_and_opinions_are_what_was_said_or_written(write: Write) -> None:
    tables, world_log = play(
        write(
            """
            beats = 6
            script = "lines.toml"
            [[opinions]]
            name = "weather"
            choices = ["rain", "wind"]
            path = "vote"
            """
        )
    )
    with world_log:
        assert [message.text for message in tables.messages] == ["I am for RAIN."]
        assert [(row.name, row.choice, row.source) for row in tables.opinions] == [
            ("Ann", "rain", "said"),
            ("Bob", "wind", "wrote"),
        ]
        assert tables.figures["weather: rain"] == tables.figures["weather: wind"] == 1
        assert tables.figures["brain"] == 1 and tables.figures["refused"] >= 1
        (pair,) = tables.network
        assert (pair.speaker_name, pair.listener_name, pair.heard) == ("Ann", "Bob", 1)


def test_attention_is_followed(write: Write) -> None:
    tables, world_log = play(write("beats = 3"))
    world_log.close()
    last = {(row.name, row.room): row.percent for row in tables.attention}
    assert last == {("Ann", 1): 50.0, ("Ann", 2): 50.0, ("Bob", 2): 100.0}


def test_a_run_that_is_stopped_is_not_finished_and_a_minute_is_an_end(write: Write) -> None:
    experiment = read_experiment(write("minutes = 1.0"))
    (variant,), (seed,) = experiment.variants, experiment.seeds
    folder = Path(experiment.where).parent / "results"
    stop = asyncio.Event()
    stop.set()
    assert asyncio.run(play_run(experiment, variant, seed, folder, lambda *_: None, stop)) == STOPPED
    files = RunFiles(folder, variant.name, seed)
    record = files.record()
    assert record is not None and not record.ended
    ended = asyncio.run(play_run(experiment, variant, seed, folder, lambda *_: None, asyncio.Event()))
    record = files.record()
    assert ended == "1 minutes" and record is not None and record.tables is not None
    assert 0.8 < record.tables.figures["minutes"] <= 1.0


# -- models --------------------------------------------------------------------------------------------------------

MODEL = "openai-chat:gpt-4o-mini"


def environment(server: ScriptedModel) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "a-key-of-the-test"}


def command(file: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "hudkit", "rooms", "experiment", str(file), "--processes", "1", *more]


@pytest.mark.parametrize("clock", ["simulated", "real"])
def test_a_model_is_asked_nothing_twice_after_a_kill(write: Write, clock: str) -> None:
    beats = 12
    file = write(
        f"""
        beats = {beats}
        clock = "{clock}"
        [[variants]]
        name = "v"
        model = "{MODEL}"
        temperature = 0.3
        set = {{ "agents.Ann.max_output" = 77, "rules.tempo.least" = 0.05, "rules.tempo.most" = 0.1 }}
        [[interventions]]
        beat = 3
        say = {{ room = "Bob", text = "Rain or wind?" }}
        """
    )

    def answer(_: Any) -> ScriptedReply:
        number = len(server.requests)
        return says(json.dumps({"responses": [{"room_id": 2, "message": f"Answer number {number}."}]}))

    with ScriptedModel(answer) as server:
        child = subprocess.Popen(command(file), env=environment(server), start_new_session=True)
        while child.poll() is None and len(server.requests) < 5:
            time.sleep(0.002)
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        asked = len(server.requests)
        subprocess.run(command(file), env=environment(server), check=True, capture_output=True)
        # What was under way when it was killed is asked again on a simulated clock, and lost on a real one, maybe
        # before its request was sent: one request of each agent at most.
        assert abs(len(server.requests) - beats) <= 2 and asked < beats
        bodies = [request.body for request in server.requests]
    assert {body["temperature"] for body in bodies} == {0.3}
    limits = {body.get("max_completion_tokens") or body.get("max_tokens") for body in bodies}
    assert limits == {77, 4_000}
    with (file.parent / "trial-results" / "runs.csv").open() as lines:
        (row,) = csv.DictReader(lines)
    assert (row["beats"], row["interventions"]) == (str(beats), "1")
    assert float(row["cost"]) > 0


def test_the_cap_ends_an_experiment_and_a_higher_one_goes_on(write: Write) -> None:
    file = write(
        f"""
        beats = 6
        seeds = 3
        clock = "simulated"
        cap = 0.001
        [[variants]]
        name = "v"
        model = "{MODEL}"
        """
    )
    with ScriptedModel(lambda _: says('{"responses": [{"room_id": 2, "message": "Hm."}]}')) as server:
        stopped = subprocess.run(command(file), env=environment(server), capture_output=True, text=True)
        asked = len(server.requests)
        assert stopped.returncode == 1 and "a higher --cap" in stopped.stderr and asked < 18
        goes_on = subprocess.run(
            command(file, "--cap", "9", "--json"), env=environment(server), capture_output=True, text=True
        )
        facts = json.loads(goes_on.stdout)
        assert (goes_on.returncode, facts["finished"], facts["runs"]) == (0, 3, 3)
        assert len(server.requests) <= 18 + 2


def test_a_forecast_asks_nobody(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(f'beats = 200\nseeds = 10\n[[variants]]\nname = "v"\nmodel = "{MODEL}"\n[[variants]]\nname = "free"')
    assert main(["rooms", "experiment", str(file), "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    paid, free = facts["variants"]
    (model,) = paid["models"]
    assert (facts["runs"], model["model"], model["beats"], free["models"][0]["cost"]) == (20, MODEL, 200, 0.0)
    assert 200 * 2_000 < model["input_tokens"] < 200 * 10_000
    listed = (model["input_tokens"] * 0.15 + model["output_tokens"] * 0.60) / 1e6
    assert model["cost"] == pytest.approx(listed)
    assert not (file.parent / "trial-results").exists()


# -- what is there already -----------------------------------------------------------------------------------------


def test_results_of_another_definition_are_refused_or_replaced(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write("beats = 3")
    assert main(["rooms", "experiment", str(file)]) == 0
    file = write("beats = 4")
    assert main(["rooms", "experiment", str(file)]) == 2
    assert "--restart" in capsys.readouterr().err
    assert main(["rooms", "experiment", str(file), "--restart"]) == 0
    with (file.parent / "trial-results" / "beats.csv").open() as lines:
        assert len(list(csv.DictReader(lines))) == 4


def test_the_report_needs_nothing_else_and_shows_text_as_data(write: Write) -> None:
    file = write(
        'beats = 6\nscript = "lines.toml"\n[[variants]]\nname = "<b>bold</b>"\n'
        '[[opinions]]\nname = "w"\nchoices = ["rain"]'
    )
    assert main(["rooms", "experiment", str(file)]) == 0
    page = (file.parent / "trial-results" / "report.html").read_text()
    assert "<script" not in page and "http" not in page.replace("http-equiv", "") and "<b>bold" not in page
    assert "&lt;b&gt;bold" in page and "w: rain" in page and "Who talks with whom" in page
    record = msgspec.json.decode(next((file.parent / "trial-results" / "runs").glob("*.json")).read_bytes())
    assert record["ended"] == "6 beats"


def test_a_world_is_played_by_a_script_from_the_command_line(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    write("beats = 1")
    assert main(["rooms", "new", "--file", str(tmp_path / "pair.toml")]) == 0
    assert main(["rooms", "run", "--beats", "4", "--fast", "--script", str(tmp_path / "lines.toml")]) == 0
    assert "I am for RAIN." in capsys.readouterr().out


def test_a_message_that_waits_for_the_pace_is_an_effect_of_the_beat_that_said_it(
    write: Write, tmp_path: Path
) -> None:
    file = write('beats = 12\nscript = "wordy.toml"')
    line = '[[lines]]\nagent = "Ann"\nsay = { Bob = "%s" }\n'
    (tmp_path / "wordy.toml").write_text("".join(line % " ".join(f"{name}{n}" for n in range(60)) for name in "abc"))
    tables, world_log = play(file)
    with world_log:
        delayed = len(events_of(world_log, e.MessageDelayed))
        assert delayed == tables.figures["delayed"] > 0
        beats = [row for row in tables.beats if row.name == "Ann"][:3]
        assert [row.messages + row.delayed for row in beats] == [1, 1, 1]
        assert tables.figures["messages"] == len(tables.messages)
