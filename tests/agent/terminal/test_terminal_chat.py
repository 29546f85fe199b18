"""`hudkit chat` (and `run`) in a real terminal of 80 columns: what is seen, asked, cancelled and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from terminal_harness import Desk, Tmux

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "scripts" / "temperatures.toml"
BASH = {"text": "I run it.", "calls": [{"name": "bash", "arguments": {"command": "echo hello >> made.txt"}}]}
DONE = {"text": "All **done**."}
TASK = {"tool": "task.set", "args": {"description": "Keep the shop open"}}
STOPPED = {"calls": [{"name": "bash", "arguments": {"command": "touch began; sleep 60"}}]}
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38;5|48;5)m")


def begin(desk: Desk, tmux: Tmux, *more: object) -> None:
    tmux.run(desk.argv("chat", *more))
    tmux.wait("/help lists commands", "›", "window unknown")


def say(tmux: Tmux, text: str, *then: str, gone: str = "") -> str:
    """A prompt or command, and what is on the screen once `then` is there, too."""
    tmux.type(text, "Enter")
    return tmux.wait(text, *then, gone=gone)


def test_a_conversation(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--yes", "--script", EXAMPLE)
    say(tmux, "Write a 温度 converter", "passes", "6 model calls", "todos 3/3 · task: Write a converter")
    text = say(tmux, "/hud", "# Task", "Below absolute zero is a ValueError", "Context: ")
    for line in ("✓ write temperatures.py", "✗ bash python3 -B -m unittest -q", "  temperatures.py +1 -1"):
        assert line in text
    assert re.search(r"0 +32\n *100 +212", text), "a table"
    assert "model calls, " in text and "$" not in text.partition("/help")[2], "a script has no prices"
    help_ = say(tmux, "/help", "/compact", "/undo", "/resume", "Enter sends")
    assert "/hud" in help_
    say(tmux, "/comapct", "There is no command /comapct. Did you mean /compact?")
    say(tmux, "/quit", "--session ses_", "code=0")
    assert max(map(cell_len, tmux.lines())) <= 80


def test_questions_are_answered_with_a_key(desk: Desk, tmux: Tmux) -> None:
    made = desk.project / "made.txt"
    begin(desk, tmux, "--script", desk.script(BASH, DONE, BASH, DONE, BASH, BASH, DONE))
    say(tmux, "One", "I run it.", "? bash needs your permission", "echo hello >> made.txt", "Allow?")
    tmux.type("x", "d")
    tmux.wait("denied", "the user said no", "All done.", "2 model calls")
    assert not made.exists()
    say(tmux, "Two", "Allow?")
    tmux.type("o")
    tmux.wait("Two", "allowed once", "All done.", "2 model calls")
    assert made.read_text() == "hello\n"
    say(tmux, "Three", "always allows: bash echo hello", "Allow?")
    tmux.type("a")
    tmux.wait("Three", "allowed for this session", "All done.", "3 model calls")
    assert made.read_text() == "hello\n" * 3
    assert tmux.text().count("needs your permission") == 3
    desk.messages()


def test_keys_pressed_before_a_question_do_not_answer_it(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script({**BASH, "delay": 1.5}, DONE))
    tmux.type("One", "Enter")
    tmux.wait("waiting for the model")
    tmux.type("a", "o", "Enter")
    tmux.wait("Allow?")
    assert not (desk.project / "made.txt").exists()
    tmux.type("d")
    tmux.wait("denied", "All done.")


def test_ctrl_c_cancels_and_the_session_goes_on(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--yes", "--script", desk.script(STOPPED, DONE))
    say(tmux, "One", "· bash touch began; sleep 60", "running")
    tmux.type("C-c")
    tmux.wait("Cancelled. What was done stays", "›")
    say(tmux, "Two", "All done.", "1 model call")
    desk.messages()
    tmux.type("C-c")
    tmux.wait("Ctrl-C again leaves")
    tmux.type("C-c")
    tmux.wait("code=0")


def test_ctrl_c_at_a_question_cancels_and_ctrl_d_leaves(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script(BASH, DONE))
    say(tmux, "One", "Allow?")
    tmux.type("C-c")
    tmux.wait("Cancelled. What was done stays", "›")
    assert not (desk.project / "made.txt").exists()
    tmux.type("unsent", "C-c")
    tmux.type("C-d")
    tmux.wait("code=0")
    tmux.type("echo seen", "Enter")
    tmux.wait("$ echo seen", "seen"), "the terminal is as it was"


def test_run_asks_and_is_cancelled(desk: Desk, tmux: Tmux) -> None:
    tmux.run(desk.argv("run", "--script", desk.script(BASH, DONE, STOPPED), "One"))
    tmux.wait("Allow?")
    tmux.type("o")
    tmux.wait("All done.", "2 model calls", "code=0")
    tmux.run(desk.argv("run", "--yes", "--script", desk.script(STOPPED), "Two"))
    tmux.wait("running")
    tmux.type("C-c")
    tmux.wait("Cancelled", "code=130")


def test_what_is_typed_meanwhile_is_there_at_the_next_prompt(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script({**DONE, "delay": 1.0}, DONE))
    tmux.type("One", "Enter")
    tmux.wait("waiting for the model")
    tmux.type("Two", "Enter")
    text = tmux.wait("All done.", "1 model call", "› Two")
    assert text.count("Two") == 1 and "waiting" not in text, "and it did not get into what was drawn"
    tmux.type("lines", "M-Enter", "more", "Enter")
    tmux.wait("› Two", "lines", "more", "All done.", "1 model call")
    assert desk.messages()[2].parts[0].text == "Two\nlines\nmore"  # type: ignore[union-attr]


def test_undo_model_compact_resume(desk: Desk, tmux: Tmux) -> None:
    desk.script(BASH, {"text": "Once."}, {"text": "Long. " + "x " * 999}, DONE, {"for": "compaction", "text": "Sum."})
    begin(desk, tmux, "--yes", "--script", desk.folder / "script.jsonl")
    say(tmux, "One", "Once.", "2 model calls")
    say(tmux, "/undo", "Taken back: One", "What these did stays:", "echo hello", "› One")
    tmux.type("C-c")
    say(tmux, "Three", "Long.", "1 model call")
    say(tmux, "/compact", "Compacting: as asked.", "Compacted: ", "window unknown")
    say(tmux, "Four", "All done.")
    other = desk.folder / "other.jsonl"
    other.write_text('{"text": "From the other."}\n')
    say(tmux, "/model script:../other.jsonl", "The model is script:other.jsonl.")
    say(tmux, "Five", "From the other.")
    say(tmux, "/model nonsense", "'nonsense' is not a model")
    say(tmux, "/resume", "*  1  ", "Three")
    say(tmux, "/quit", "code=0")
    desk.messages()
    tmux.run(desk.argv("chat", "--script", other))
    tmux.wait("/help lists commands")
    say(tmux, "Six", "From the other.", "1 model call")
    say(tmux, "/resume 2", "› Five", "From the other.")
    tmux.type("Up")
    tmux.wait("› Five", "› Five")


def test_a_long_answer_scrolls_without_a_line_twice(desk: Desk, tmux: Tmux) -> None:
    tmux.resize(80, 15)
    items = "\n".join(f"- point {at} 日本語 " + "word " * 20 for at in range(40))
    code = "\n".join(f"line_{at} = {at}" for at in range(60))
    text = f"# Title\n\n{items}\n\nBetween.\n\n```py\n{code}\n```\n\nThe end.\n"
    tmux.run(desk.argv("run", "--script", desk.script({"text": text, "pace": 0.002}), "One"))
    seen = tmux.wait("The end.", "1 model call", "code=0")
    for at in range(40):
        assert seen.count(f"• point {at} 日本語") == 1, at
    for at in range(60):
        assert len(re.findall(rf"line_{at} = {at}\b", seen)) == 1, at
    assert "answering" not in seen and seen.count("# Title") == 1
    assert max(map(cell_len, tmux.lines())) <= 80


def test_a_terminal_that_gets_narrower(desk: Desk, tmux: Tmux) -> None:
    words = " ".join(f"word{at}" for at in range(150))
    tmux.run(desk.argv("run", "--script", desk.script({"text": f"{words}\n\nThe end.", "pace": 1.5}), "One"))
    tmux.wait("word10", "answering")
    tmux.resize(50, 50)
    seen = tmux.wait("The end.", "code=0")
    assert seen.count("word149") == 1 and "answering" not in seen.partition("The end.")[2]


def test_no_colour(desk: Desk, tmux: Tmux) -> None:
    script = desk.script(BASH, {"text": "# Title\n\nSome `code`."})
    for more in ((), ("NO_COLOR=1",)):
        tmux.run(["env", *more, *desk.argv("chat", "--yes", "--script", script)])
        tmux.wait("window unknown")
        say(tmux, "One", "# Title", "Some code.", "2 model calls")
        assert bool(COLOUR.search(tmux.text(colours=True))) == (not more)
        say(tmux, "/quit", "code=0")


def test_escape_sequences_are_shown_not_sent(desk: Desk, tmux: Tmux) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\x1b[8m\u202e"
    call = {"name": "bash", "arguments": {"command": f"echo {evil}"}}
    begin(
        desk,
        tmux,
        "--script",
        desk.script({"text": f"Said {evil}&#x200b;", "calls": [call]}, {"text": f"`{evil}` end"}),
    )
    say(tmux, "One", "Said \\e[2J\\e]0;owned\\x07\\e[8m\\u202e\\u200b", "Allow?")
    tmux.type("d")
    text = tmux.wait("denied", "\\e[2J", "end", "2 model calls")
    assert "Said" in text and "owned" not in tmux._call("display-message", "-p", "#{pane_title}")


def test_a_dumb_terminal_gets_lines(desk: Desk, tmux: Tmux) -> None:
    tmux.run(["env", "TERM=dumb", *desk.argv("run", "--yes", "--script", desk.script(BASH, DONE), "One")])
    text = tmux.wait("✓ bash echo", "All **done**.", "code=0")
    assert "answering" not in text
    assert COLOUR.search(tmux.text(colours=True)) is None
