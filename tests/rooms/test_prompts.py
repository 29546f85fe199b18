"""Prompts: hudkit's own are complete, a folder's stand in for them, and what is wrong is named by file and line."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from hudkit.errors import ConfigError
from hudkit.rooms.actions import ACTIONS
from hudkit.rooms.prompts import PROMPTS, check_prompts, fill_placeholders, load_prompts, read_actions, write_prompts
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.world import IntervalRules, WordRules, WorldRules


def test_every_prompt_is_there() -> None:
    assert list(load_prompts()) == list(PROMPTS)


def test_a_folder_stands_in_for_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "philosophy").mkdir()
    (tmp_path / "philosophy" / "silence.md").write_text("Be still.\n")
    (tmp_path / ".notes.md").write_text("mine")
    assert load_prompts(tmp_path) == {**load_prompts(), "philosophy.silence": "Be still."}


def test_what_is_written_out_reads_the_same(tmp_path: Path) -> None:
    written = write_prompts(tmp_path / "prompts")
    assert len(written) == len(PROMPTS)
    assert load_prompts(tmp_path / "prompts") == load_prompts()
    (tmp_path / "prompts" / "instructions" / "bot.md").write_text("Mine.")
    assert write_prompts(tmp_path / "prompts") == []
    assert load_prompts(tmp_path / "prompts")["instructions.bot"] == "Mine."


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "directives/room.md",
            b"x",
            "room.md: there is no prompt 'directives.room'. Did you mean 'directives.rooms'?",
        ),
        ("notes.txt", b"x", "notes.txt: there is no prompt 'notes'"),
        ("directives/rooms.md", b" \n", "rooms.md:1: says nothing"),
        ("directives/rooms.md", b"a\nb\xff", "rooms.md:2: no UTF-8"),
        ("directives/rooms.md", "a\n\nb\u202ec".encode(), "rooms.md:3: a hidden character, U+202E, at 2"),
        (
            "directives/rooms.md",
            b"a\nup to {{most_wmp}}",
            "rooms.md:2: there is no place {{most_wmp}}. Did you mean 'most",
        ),
        ("directives/rooms.md", b"line\n" * 2000, "rooms.md:1601: longer than 8000 characters"),
        ("directives/rooms.md", b"line\n" * 9000, "rooms.md:1: longer than 8000 characters"),
        ("actions.toml", b"[timing]\ndescription = 3 4", "actions.toml:2: no TOML"),
        (
            "actions.toml",
            b"\n[timming]\ndescription = ''",
            "actions.toml:2: there is no category 'timming'. Did you mean",
        ),
        ("actions.toml", b"[timing]\n", "actions.toml:1: [timing] has no description"),
        ("actions.toml", b"[timing]\ndescription = ''\nwhen = ''", "actions.toml:1: [timing] has 'when'"),
        ("actions.toml", b"[timing]\ndescription = ''\nactions = 3", "actions.toml:1: timing.actions is not a list"),
        (
            "actions.toml",
            b"[timing]\ndescription = ''\n[[timing.actions]]\ntype = 'sleep'\n[[timing.actions]]\ntype = 'slep'",
            "actions.toml:5: timing has no action 'slep'. Did you mean 'sleep'?",
        ),
        (
            "actions.toml",
            b"[timing]\ndescription = ''\n[[timing.actions]]\ntype = 'sleep'\nuntill = ''",
            "actions.toml:5: sleep has no argument 'untill'. Did you mean 'until'?",
        ),
        (
            "actions.toml",
            b"[timing]\ndescription = ''\n[[timing.actions]]\ntype = 'sleep'\nuntil = 3",
            "actions.toml:5: until is not a text",
        ),
        (
            "actions.toml",
            b"[timing]\ndescription = ''\n[[timing.actions]]\n",
            "actions.toml:3: an action without a type",
        ),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_prompts(tmp_path)
    assert message in str(caught.value)
    assert caught.value.details["file"] == str(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        load_prompts(tmp_path / "nowhere")


def test_prompts_that_come_without_a_file_are_named() -> None:
    check_prompts({"philosophy.silence": "Be still."})
    with pytest.raises(ConfigError, match="there is no prompt 'silence'"):
        check_prompts({"silence": "Be still."})
    with pytest.raises(ConfigError, match="actions:1: no TOML"):
        check_prompts({"actions": "="})


def test_places_hold_what_a_world_sets() -> None:
    rules = WorldRules(tempo=IntervalRules(step=0.25), words=WordRules(max_wpm=150))
    text = fill_placeholders("{{step}} s, {{most_wpm}} wpm, {{name}} letters, {{unknown}}", rules)
    assert text == "0.25 s, 150 wpm, 50 letters, {{unknown}}"


def test_the_help_names_every_action_and_only_arguments_that_it_has() -> None:
    told = {
        one["type"]: set(one) - {"type"} for group in read_actions(load_prompts()["actions"]) for one in group.actions
    }
    assert told.keys() == ACTIONS.keys()
    for name, arguments in told.items():
        struct = ACTIONS[name].arguments
        assert arguments <= set(struct.__struct_fields__), name
        required = {one.name for one in msgspec.structs.fields(struct) if one.required}
        assert required <= arguments, name


@pytest.mark.parametrize("format_", ["json", "toon"])
def test_the_example_of_an_answer_is_one_whose_places_are_filled(format_: str) -> None:
    """A small model says an example that could be spoken: so it has places, and nothing of it can be carried out."""
    example = load_prompts()[f"answer.{format_}-example"]
    assert "<your words>" in example and "<room id>" in example and "122" not in example
    filled = re.sub(r"<(?:room|message) id>", "8", example)
    reply = parse_reply(filled.replace("<reaction>", "brain"), format_)  # type: ignore[arg-type]
    assert reply.faults == ()
    assert [one["room_id"] for one in reply.responses] == [8]
    assert [one["type"] for one in reply.actions] == ["set", "react"]


def test_being_addressed_weighs_more_than_silence() -> None:
    prompts = load_prompts()
    for name, text in prompts.items():
        assert "either may be empty" not in text and "Silence is a good answer" not in text, name
    for name in ("answer.json", "answer.toon", "philosophy.silence"):
        assert "asked, named" in prompts[name]
