"""`hudkit chat` (and `run`) in a real terminal of 80 columns: what is seen, asked, cancelled and taken back."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

from hudkit.agent.records import Attachment, StoredText
from hudkit.paths import CHAT_HISTORY
from terminal_harness import Desk, Tmux
from waiting import until

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
    say(tmux, "Write a 温度 converter", "passes", "6 model calls", "no price · todos 3/3 · task: Write a ")
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


def prompts(desk: Desk) -> list[str]:
    """What the user said, prompt by prompt, with what was put in front of it."""
    users = (message for message in desk.messages() if message.role == "user")
    return ["".join(part.text for part in message.parts if isinstance(part, StoredText)) for message in users]


def test_what_is_typed_meanwhile_is_shown_and_sent_afterwards(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script({**DONE, "delay": 1.5}, {"text": "Second."}, {"text": "Third."}))
    tmux.type("One", "Enter")
    tmux.wait("waiting for the model")
    tmux.type("Twx", "BSpace", "o", "M-Enter", "more", "Enter", "half")
    tmux.wait("waiting for the model", "queued: Two more", "› half")
    text = tmux.wait("All done.", "1 model call", "› Two", "more", "Second.", "1 model call", "› half")
    assert "queued" not in text and "waiting" not in text
    tmux.type(" and whole", "Enter")
    tmux.wait("› half and whole", "Third.")
    assert prompts(desk) == ["One", "Two\nmore", "half and whole"]


def test_a_line_that_was_typed_before_the_prompt_was_up_is_sent(desk: Desk, tmux: Tmux) -> None:
    tmux.type(f"clear; {shlex.join(desk.argv('chat', '--script', desk.script(DONE, DONE)))}", "Enter")
    tmux.type("Early", "Enter", "Next")
    tmux.wait("/help lists commands", "› Early", "All done.", "› Next")
    assert prompts(desk) == ["Early"]


def test_a_cancelled_turn_gives_back_what_was_queued(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--yes", "--script", desk.script(STOPPED, DONE))
    say(tmux, "One", "running")
    tmux.type("Two", "Enter", "and")
    tmux.wait("queued: Two", "› and")
    tmux.type("C-c")
    tmux.wait("Cancelled. What was done stays", "› Two", "and")
    assert prompts(desk) == ["One"]
    tmux.type("Enter")
    tmux.wait("All done.", "1 model call")
    assert prompts(desk) == ["One", "Two\nand"]


def test_a_question_waits_for_a_line_that_is_half_typed(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script({**BASH, "delay": 1.0}, DONE, DONE))
    tmux.type("One", "Enter")
    tmux.wait("waiting for the model")
    tmux.type("a goo")
    tmux.wait("a question waits for your line")
    tmux.type("d idea", "Enter")
    text = tmux.wait("Allow?")
    assert "allowed" not in text and not (desk.project / "made.txt").exists()
    tmux.type("d")
    tmux.wait("denied", "All done.", "› a good idea", "All done.")
    assert prompts(desk) == ["One", "a good idea"]


def test_files_are_completed_and_attached(desk: Desk, tmux: Tmux) -> None:
    subprocess.run(["git", "init", "-qb", "trunk"], cwd=desk.project, check=True)
    (desk.project / ".gitignore").write_text("secret.txt\n")
    (desk.project / "secret.txt").write_text("hidden")
    (desk.project / "src").mkdir()
    (desk.project / "src" / "seeds.txt").write_text("sow in spring")
    begin(desk, tmux, "--script", desk.script(DONE, DONE))
    tmux.wait("project (trunk)")
    tmux.type("Read @se")
    text = tmux.wait("› Read @se", "@src/seeds.txt")
    assert "secret" not in text
    tmux.type("Tab")
    tmux.wait("› Read @src/seeds.txt")
    tmux.type(", please", "Enter")
    tmux.wait("attached: seeds.txt", "All done.")
    assert prompts(desk) == ["Read @src/seeds.txt, pleaseThe file src/seeds.txt:\n\nsow in spring"]


def test_a_picture_goes_as_its_path_where_nobody_knows_that_the_model_takes_it(desk: Desk, tmux: Tmux) -> None:
    (desk.project / "a cat.png").write_bytes(b"\x89PNG")
    begin(desk, tmux, "--script", desk.script(DONE))
    say(tmux, "What is 'a cat.png'?", "a cat.png goes as its path", "All done.")
    assert not any(isinstance(part, Attachment) for message in desk.messages() for part in message.parts)


def test_commands_of_the_user_run_and_are_told_with_the_next_prompt(desk: Desk, tmux: Tmux) -> None:
    begin(desk, tmux, "--script", desk.script(DONE, DONE))
    say(tmux, "!printf 'one\\ntwo\\n'; exit 3", "  one\n  two", "told of it with the next prompt")
    say(tmux, "Why 3", "All done.")
    told = "The user ran a command in a shell:\n\n$ printf 'one\\ntwo\\n'; exit 3\none\ntwo\n[exit code 3]\n"
    assert prompts(desk) == [f"{told}Why 3"]
    say(tmux, "!touch began; sleep 60")
    until((desk.project / "began").exists)
    tmux.type("C-c")
    tmux.wait("Cancelled; the agent is not told of it.")
    say(tmux, "Again", "All done.")
    assert prompts(desk)[1:] == ["Again"]
    say(tmux, "/undo", "Taken back: Again", "› Again")
    tmux.type("C-c")
    say(tmux, "/undo", "Taken back: Why 3", "› Why 3"), "without what was put beside it"


def test_history_lasts_and_is_private(desk: Desk, tmux: Tmux) -> None:
    for text in ("First ever", "Second ever"):
        begin(desk, tmux, "--script", desk.script(DONE))
        say(tmux, text, "All done.")
        say(tmux, "/quit", "code=0")
    kept = desk.data / CHAT_HISTORY
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    begin(desk, tmux, "--script", desk.script(DONE))
    tmux.type("Up", "Up", "Up", "Up")
    tmux.wait("› First ever")
    tmux.type("Down", "Down")
    tmux.wait("› Second ever")


def test_what_changed_what_it_cost_and_what_fills_the_window(desk: Desk, tmux: Tmux) -> None:
    (desk.project / "a.py").write_text("x = 1\ny = 2\n")
    usage = {"usage": {"read": 10_000, "written": 0, "fresh": 150_000, "output": 100}}
    edit = {"calls": [{"name": "edit", "arguments": {"path": "a.py", "old": "x = 1", "new": "x = 3"}}], **usage}
    read = {"calls": [{"name": "read", "arguments": {"path": "a.py"}}]}
    code = {"text": "```python\ndef f():\n    return 1\n```", **usage}
    begin(desk, tmux, "--script", desk.script(read, edit, code, DONE))
    say(tmux, "One", "return 1", "3 model calls", "window ██████▍░", "160k/200k assumed 80%", "no price")
    assert re.search(r"\x1b\[94mdef", tmux.text(colours=True)), "code has the colours of its language"
    say(tmux, "/diff", "a.py +1 -1", "  -x = 1", "  +x = 3", "   y = 2")
    say(tmux, "/context", "window ", "160k/200k assumed 80%", "messages and calls ~", "█", "free")
    say(tmux, "/cost", "tokens in (", "cost not known", "No price of script:script.jsonl is known")
    say(tmux, "Two", "All done.")
    say(tmux, "/diff", "changed no file since the last prompt; /diff all")
    say(tmux, "/diff all", "a.py +1 -1")
    say(tmux, "/hud", "Active Files", "a.py")
    text = say(tmux, "/clear", "A new session", "/resume lists the old one", "window unknown")
    assert "# Active Files" not in text.rpartition("/clear")[2]
    say(tmux, "/hud", "The HUD is empty")
    say(tmux, "/resume", "1  ", "One")


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


def test_an_undo_goes_back_over_a_compaction_and_the_hud_follows(desk: Desk, tmux: Tmux) -> None:
    calls = [
        {"name": "write", "arguments": {"path": "shop.txt", "content": "open\n"}},
        {"name": "hud", "arguments": TASK},
    ]
    script = desk.script({"calls": calls}, DONE, {"for": "compaction", "text": "The shop is open."}, DONE)
    begin(desk, tmux, "--script", script)
    say(tmux, "Open it", "All done.", "task: Keep the")
    say(tmux, "/compact", "Compacted: ")
    say(tmux, "/undo", "Taken back: Open it", "Files put back: shop.txt", "› Open it")
    assert not (desk.project / "shop.txt").exists()
    tmux.type("C-c")
    text = say(tmux, "/hud", "# Task", "none set yet", "window unknown")
    assert "Keep the shop" not in text.rpartition("/hud")[2] and "shop.txt" not in text.rpartition("/hud")[2]


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
