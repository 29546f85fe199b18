"""`hudkit run` without a terminal: what is printed where, exit codes, permissions, sessions, JSON lines."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from terminal_harness import Desk, Run, facts
from waiting import PATIENCE, until

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "scripts" / "temperatures.toml"
BASH = {"calls": [{"name": "bash", "arguments": {"command": "echo hello > made.txt"}}]}
DONE = {"text": "All **done**."}


def test_the_answer_goes_to_the_output_and_progress_to_the_error_stream(desk: Desk, hudkit: Run) -> None:
    first = {
        "text": "I look.",
        "reasoning": "Hm, well.",
        "calls": [{"name": "glob", "arguments": {"pattern": "*.py"}}],
    }
    code, out, err = hudkit("run", "--script", desk.script(first, DONE), "Do it")
    assert (code, out) == (0, "All **done**.\n")
    lines = err.splitlines()
    assert lines[:3] == ["┊ Hm, well.", "I look.", "✓ glob *.py"]
    assert lines[-1].split(": ")[1].startswith("2 model calls, ") and lines[-1].endswith(" out")
    assert "\x1b" not in out + err


def test_quiet_says_only_what_went_wrong(desk: Desk, hudkit: Run) -> None:
    assert hudkit("run", "--quiet", "--script", desk.script(DONE), "Do it") == (0, "All **done**.\n", "")
    code, out, err = hudkit("run", "--quiet", "--script", desk.script(BASH, DONE), "Do it")
    assert (code, out) == (0, "All **done**.\n") and err.startswith("Denied")


@pytest.mark.slow
def test_the_example_does_its_work(desk: Desk, hudkit: Run) -> None:
    code, out, err = hudkit("run", "--script", EXAMPLE, "--allow", "bash python3 *", "Write a converter")
    assert code == 0 and "the test **passes**" in out
    assert "celsius * 9 / 5" in (desk.project / "temperatures.py").read_text()
    rows = err.splitlines()
    assert "  temperatures.py +1 -1" in rows and "    +    return celsius * 9 / 5 + 32" in rows
    assert next(row for row in rows if "unittest" in row).startswith("✗ bash python3 -B -m unittest -q  exit code 1")
    code, out, _ = hudkit("show")
    assert code == 0 and "Write a converter for temperatures, with a test" in out and "absolute zero" in out


@pytest.mark.parametrize(("percent", "compactions"), [(10, 2), (40, 1)])
def test_the_users_settings_count(desk: Desk, hudkit: Run, percent: int, compactions: int) -> None:
    steps = [
        {**BASH, "usage": {"read": 0, "written": 0, "fresh": tokens, "output": 9}}
        for tokens in (190_000, 140_000, 190_000)
    ]
    desk.config.write_text(f"[compaction]\nmin_freed_percent = {percent}\n")
    code, out, err = hudkit("run", "--json", "--yes", "--script", desk.script(*steps, DONE), "Do it")
    kinds = [fact["type"] for fact in facts(out)]
    assert (code, kinds.count("compacted")) == (0, compactions), err


def test_nobody_is_asked_and_it_says_how_to_allow(desk: Desk, hudkit: Run) -> None:
    code, _, err = hudkit("run", "--script", desk.script(BASH, DONE), "Do it")
    assert code == 0 and not (desk.project / "made.txt").exists()
    assert "Denied, because nobody is there to be asked: bash echo hello > made.txt" in err
    assert "--allow" in err and "--yes" in err
    call = desk.messages()[1].parts[0]
    assert "nobody is there to be asked" in call.error  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "made"),
    [
        (("--yes",), True),
        (("--allow", "bash"), True),
        (("--allow", "bash echo *"), True),
        (("--allow", "bash pytest *"), False),
        (("--allow", "bash", "--deny", "bash echo *"), False),
        (("--deny", "bash", "--allow", "bash echo *"), True),
        (("--yes", "--deny", "bash"), False),
    ],
)
def test_rules_count_in_their_order(desk: Desk, hudkit: Run, options: tuple[str, ...], made: bool) -> None:
    assert hudkit("run", *options, "--script", desk.script(BASH, DONE), "Do it")[0] == 0
    assert (desk.project / "made.txt").exists() == made


def test_yes_opens_nothing_that_is_closed(desk: Desk, hudkit: Run) -> None:
    write = {"calls": [{"name": "write", "arguments": {"path": ".git/hooks/x", "content": "x"}}]}
    hudkit("run", "--yes", "--script", desk.script(write, DONE), "Do it")
    assert not (desk.project / ".git").exists()


def test_sessions_are_gone_on_with(desk: Desk, hudkit: Run) -> None:
    code, _, err = hudkit("run", "--continue", "--script", desk.script(DONE), "One")
    assert code == 2 and "there is no session" in err and "--continue" in err
    hudkit("run", "--script", desk.script(DONE), "One")
    hudkit("run", "--continue", "--script", desk.script(DONE), "Two")
    one = desk.messages()
    assert [part.text for message in one for part in message.parts if message.role == "user"] == ["One", "Two"]
    hudkit("run", "--script", desk.script(DONE), "Another")
    hudkit("run", "--session", one[0].session_id[:-3], "--script", desk.script(DONE), "Three")
    with SessionStore.open(desk.data / "sessions.db", read_only=True) as store:
        assert [one.title for one in store.sessions()] == ["One", "Another"]
        assert len(store.messages(one[0].session_id)) == 6
    assert hudkit("run", "--session", "anoth", "--script", desk.script(DONE), "By its title")[0] == 0
    assert [part.text for part in desk.messages()[2].parts] == ["By its title"]  # type: ignore[union-attr]
    code, _, err = hudkit("run", "--session", "zzz", "--script", desk.script(DONE), "Four")
    assert code == 2 and "no sessions match 'zzz'" in err and one[0].session_id in err


@pytest.mark.slow
def test_what_was_cut_off_is_told(desk: Desk) -> None:
    script = desk.script({"calls": [{"name": "bash", "arguments": {"command": "touch began; sleep 60"}}]})
    child = desk.start("run", "--yes", "--script", script, "Do it")
    until((desk.project / "began").exists)
    child.kill()
    child.communicate()
    code, out, err = desk.piped("run", "--continue", "--script", desk.script(DONE), "Go on")
    assert (code, out) == (0, "All **done**.\n")
    assert "this session was cut off: 1 call and 1 response had not ended" in err


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_and_the_transcript_stays_valid(desk: Desk, stop: signal.Signals) -> None:
    script = desk.script({"calls": [{"name": "bash", "arguments": {"command": "touch began; sleep 60"}}]}, DONE)
    child = desk.start("run", "--yes", "--script", script, "Do it")
    until((desk.project / "began").exists)
    child.send_signal(stop)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, out) == (130, "") and "Traceback" not in err
    assert stop == signal.SIGTERM or "Cancelled" in err
    call = desk.messages()[1].parts[0]
    assert call.status == "error" and "cancelled" in call.error  # type: ignore[union-attr]


def test_exit_codes(desk: Desk, hudkit: Run) -> None:
    refused = {"refuse": {"status": 401, "kind": "authentication_error", "message": "bad key"}}
    code, out, err = hudkit("run", "--script", desk.script(refused), "Do it")
    assert (code, out) == (1, "") and "The turn ended (error)" in err and "bad key" in err
    code, out, err = hudkit("run", "--script", desk.script({"text": "Half", "finish": "length"}), "Do it")
    assert (code, out) == (1, "Half\n") and "(length)" in err
    assert hudkit("run", "--script", desk.folder / "none.toml", "Do it")[0] == 2
    assert hudkit("run", "--script", desk.script(DONE), "--agent", "nobody", "Do it")[0] == 2
    assert hudkit("run", "--script", desk.script(DONE), "--allow", " ", "Do it")[0] == 2


def test_without_a_model_it_says_what_to_do(desk: Desk, hudkit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = hudkit("run", "Do it")
    assert (code, out) == (2, "")
    for word in ("no model is named", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "--model anthropic:", "--script"):
        assert word in err
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "--model openai:" in hudkit("run", "Do it")[2]
    assert "is not a model" in hudkit("run", "--model", "nonsense", "Do it")[2]
    desk.config.write_text('[session]\nmodel = "nonsense-too"\n')
    assert "'nonsense-too' is not a model" in hudkit("run", "Do it")[2]


def test_an_attempt_that_fails_is_told(desk: Desk, hudkit: Run) -> None:
    refused = {"refuse": {"status": 429, "headers": {"retry-after": "0"}}}
    code, out, err = hudkit("run", "--script", desk.script(refused, DONE), "Do it")
    assert (code, out) == (0, "All **done**.\n") and "Again in 0.0s (attempt 2)" in err


def test_a_compaction_is_told_and_the_summary_is_no_answer(desk: Desk, hudkit: Run) -> None:
    full = {"text": "x " * 3000, "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]}
    full["usage"] = {"read": 0, "written": 0, "fresh": 199_000, "output": 500}
    again = {"text": "Again.", "calls": full["calls"]}
    script = desk.script(full, again, DONE, {"for": "compaction", "text": "A secret summary."})
    code, out, err = hudkit("run", "--script", script, "Do it")
    assert (code, out) == (0, "All **done**.\n")
    assert (
        "Compacting: the window is full." in err and "Compacted: " in err and "Again." in err and "secret" not in err
    )


@pytest.mark.slow
def test_the_prompt_may_come_from_a_pipe(desk: Desk) -> None:
    assert desk.piped("run", "--script", desk.script(DONE), stdin="fix it\n")[0] == 0
    assert desk.messages()[0].parts[0].text == "fix it"  # type: ignore[union-attr]
    desk.piped("run", "--continue", "--script", desk.script(DONE), "Review", "-", stdin="the diff\n")
    assert desk.messages()[2].parts[0].text == "Review\n\nthe diff"  # type: ignore[union-attr]
    child = desk.start("run", "--continue", "--script", desk.script(DONE), "Alone")
    assert child.wait(timeout=30) == 0, "a pipe that stays open is not waited for"
    child.communicate()
    code, _, err = desk.piped("run", "--script", desk.script(DONE), stdin=" \n")
    assert code == 2 and "there is no prompt" in err


def test_json_lines(desk: Desk, hudkit: Run) -> None:
    answer = {"text": "It is there.", "usage": {"read": 10, "written": 5, "fresh": 100, "output": 7}}
    script = desk.script({"text": "I do it.", "reasoning": "Hm.", **BASH}, answer)
    code, out, err = hudkit("run", "--yes", "--json", "--script", script, "Do it \x1b[31m")
    assert (code, err) == (0, "") and out.isascii() and "\x1b" not in out
    found = facts(out)
    kinds = [one["type"] for one in found]
    assert kinds[:3] == ["session", "prompt", "step"] and kinds[-2:] == ["answer", "ended"]
    assert found[0]["model"] == "script:script.jsonl" and found[0]["directory"] == str(desk.project)
    assert found[1]["text"] == "Do it \x1b[31m"
    assert "".join(one["text"] for one in found if one["type"] == "text") == "I do it.It is there."
    assert [one["status"] for one in found if one["type"] == "call"] == ["pending", "running", "completed"]
    last = next(one for one in reversed(found) if one["type"] == "call")
    assert (last["tool"], last["arguments"]["command"], last["output"]) == (
        "bash",
        "echo hello > made.txt",
        "[no output]",
    )
    end = found[-1]
    assert (end["reason"], end["text"], end["steps"], end["cost"]) == ("done", "It is there.", 2, None)
    assert (end["used"], end["limit"]) == (122, 200_000)
    assert set(end["usage"]) == {"input", "cache_read", "cache_write", "output", "reasoning"}


def test_an_answer_of_a_schema_is_json_alone(desk: Desk, hudkit: Run) -> None:
    schema = desk.project / "schema.json"
    schema.write_text('{"type": "object", "properties": {"cone": {"type": "integer"}}, "required": ["cone"]}')
    wrong, right = {"text": '{"cone": "hot"}'}, {"text": 'Here:\n```json\n{"cone": 6}\n```'}
    answer = ("run", "--answer-schema", schema)
    code, out, _ = hudkit(*answer, "--script", desk.script(wrong, right), "How hot?")
    assert (code, out) == (0, '{"cone": 6}\n')
    code, out, _ = hudkit(*answer, "--json", "--script", desk.script(wrong, right), "How hot?")
    ended = facts(out)[-1]
    assert (code, ended["reason"], ended["answer"], ended["steps"]) == (0, "done", {"cone": 6}, 2)
    code, out, _ = hudkit(*answer, "--json", "--script", desk.script(wrong, wrong, wrong), "How hot?")
    ended = facts(out)[-1]
    assert (code, ended["reason"]) == (1, "answer") and "$.cone: 'hot' is not of type 'integer'" in ended["error"]
    assert "answer" not in ended
    schema.write_text("[]")
    assert hudkit(*answer, "--script", desk.script(right), "How hot?")[0] == 2
    code, _, err = hudkit("run", "--answer-schema", desk.project / "none.json", "--script", desk.script(right), "x")
    assert code == 2 and "none.json is no file with a JSON Schema" in err


def test_json_of_a_denied_call_is_clean(desk: Desk, hudkit: Run) -> None:
    code, out, err = hudkit("run", "--json", "--script", desk.script(BASH, DONE), "Do it")
    calls = [one for one in facts(out) if one["type"] == "call"]
    assert code == 0 and calls[-1]["status"] == "error" and "nobody is there" in calls[-1]["error"]
    assert err.startswith("Denied")


def test_escape_sequences_of_models_and_tools_are_shown_not_sent(desk: Desk, hudkit: Run) -> None:
    evil = "\x1b]0;owned\x07 \x1b[2J\u202egnp.exe \x9b31m\r&#x202e;"
    call = {"name": "bash", "arguments": {"command": f"true {evil}"}}
    script = desk.script({"text": f"a {evil}", "reasoning": evil, "calls": [call]}, {"text": f"# b {evil}"})
    code, out, err = hudkit("run", "--yes", "--script", script, "Do it")
    assert code == 0 and "\\e]0;owned\\x07" in out and "\\e]0;owned\\x07" in err
    hidden = [one for one in out + err if not one.isprintable() and one != "\n"]
    assert hidden == []


def test_no_hud_leaves_no_log(desk: Desk, hudkit: Run) -> None:
    assert hudkit("run", "--no-hud", "--script", desk.script(DONE), "Do it")[0] == 0
    assert not (desk.data / "hudkit.db").exists()
    assert hudkit("run", "--script", desk.script(DONE), "Do it")[0] == 0
    assert (desk.data / "hudkit.db").exists()


def test_plugins_of_the_user_run_and_a_projects_only_when_trusted(desk: Desk, hudkit: Run) -> None:
    said = "def plugin(given):\n    def system_transform(call, output):\n        output.system.append('from {}')\n"
    said += "    return {{'system_transform': system_transform}}\n"
    for folder, name in ((desk.config.parent / "plugins", "mine"), (desk.project / ".hudkit" / "plugins", "theirs")):
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(said.format(name))
        (folder / f"{name}.py").chmod(0o600)
    code, _, err = hudkit("run", "--script", desk.script(DONE), "Do it")
    told = " ".join(err.split())  # a long path wraps the words
    assert code == 0 and "the plugin theirs is left out" in told and "not trusted" in told and "mine" not in told
    sent = RequestLog(desk.data / "requests.db")
    system = [block for one in sent.requests(desk.messages()[0].session_id) for block in one.request.system]
    sent.close()
    assert "from mine" in "".join(system) and "from theirs" not in "".join(system)


def test_a_skill_that_cannot_be_read_is_told_once_and_the_run_goes_on(desk: Desk, hudkit: Run) -> None:
    skill = desk.project / ".hudkit/skills/deploy/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: How to deploy\nRun it.")
    code, out, err = hudkit("run", "--script", desk.script(DONE), "Do it")
    assert (code, out) == (0, "All **done**.\n")
    assert (
        err.count(".hudkit/skills/deploy/SKILL.md is left out: the front matter has no end") == 1
        and "plugin" not in err
    )


def test_a_log_that_cannot_be_opened_does_not_stop_the_work(desk: Desk, hudkit: Run) -> None:
    desk.data.mkdir(mode=0o700)
    (desk.data / "hudkit.db").write_bytes(b"no database" * 1000)
    code, out, err = hudkit("run", "--script", desk.script(DONE), "Do it")
    assert (code, out) == (0, "All **done**.\n") and "the plugin hud is left out" in err


@pytest.mark.slow
def test_chat_reads_prompts_and_commands_from_a_pipe(desk: Desk) -> None:
    lines = "One\n/tmp/x is broken\n\n/hud\n/hdu\n/nonsense\n/resume\n/undo\n/undo\n/model\n"
    code, out, err = desk.piped("chat", "--script", desk.script(DONE), stdin=lines)
    assert code == 0 and out.startswith("All **done**.\n") and "# Task" in out and "One" in out
    assert "There is no command /hdu. Did you mean /hud?" in err
    assert "There is no command /nonsense. /help lists what there is." in err
    assert "Taken back: /tmp/x is broken" in err and "Taken back: One" in err
    assert "There is no command /tmp" not in err
    assert "The model is script:script.jsonl." in err and "\x1b" not in out + err


@pytest.mark.slow
def test_a_second_interrupt_leaves(desk: Desk) -> None:
    stubborn = "trap '' TERM INT; echo $$ > pid; touch began; while :; do sleep 0.05; done"
    script = desk.script({"calls": [{"name": "bash", "arguments": {"command": stubborn}}]})
    child = desk.start("chat", "--yes", "--script", script)
    assert child.stdin is not None
    child.stdin.write("One\n")
    child.stdin.flush()
    until((desk.project / "began").exists)
    child.send_signal(signal.SIGINT)
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=PATIENCE) == 130, "though the input is still open"
    child.communicate()
    pid = int((desk.project / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists())
    desk.messages()


@pytest.mark.slow
def test_own_commands(desk: Desk, hudkit: Run) -> None:
    folder = desk.config.parent / "commands"
    folder.mkdir()
    (folder / "review.md").write_text("---\ndescription: Looks over a file\n---\nReview $ARGUMENTS with care.\n")
    code, out, err = desk.piped("chat", "--script", desk.script(DONE), stdin="/review a.py\n/help\n/reviw\n")
    assert code == 0 and "/review" in out and "Looks over a file" in out and "Did you mean /review?" in err
    assert "Review a.py with care." in desk.messages()[0].parts[0].text  # type: ignore[union-attr]


def test_a_session_works_in_its_own_directory(desk: Desk, hudkit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    hudkit("run", "--data", desk.folder / "mine", "--script", desk.script(DONE), "One")
    assert not desk.data.exists()
    hudkit("run", "--script", desk.script(DONE), "One")
    id = desk.messages()[0].session_id
    monkeypatch.chdir(elsewhere)
    assert hudkit("run", "--continue", "--script", desk.script(DONE), "Two")[0] == 2, "none of this directory"
    assert hudkit("run", "--session", id, "--yes", "--script", desk.script(BASH, DONE), "Two")[0] == 0
    assert (desk.project / "made.txt").exists() and not (elsewhere / "made.txt").exists()
    (desk.project / "made.txt").unlink()
    desk.project.rmdir()
    code, _, err = hudkit("run", "--session", id, "--script", desk.script(DONE), "Three")
    assert code == 2 and "which is gone" in err


@pytest.mark.slow
def test_the_input_line_is_loaded_for_a_chat_on_a_terminal_only(desk: Desk) -> None:
    said = f"import sys; from hudkit.cli import main; main(['run', '--script', {str(desk.script(DONE))!r}, 'One']);"
    said += "sys.exit(any(name in sys.modules for name in ('prompt_toolkit', 'pydantic_ai', 'rich.markdown')))"
    done = subprocess.run(
        [sys.executable, "-c", said], env=desk.env, cwd=desk.project, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_chat_without_a_hud_says_so(desk: Desk) -> None:
    code, out, _ = desk.piped("chat", "--no-hud", "--script", desk.script(DONE), stdin="One\n/hud\n")
    assert code == 0 and "This session has no HUD." in out


@pytest.mark.parametrize("by", ["option", "setting"])
def test_a_session_without_summaries_is_trimmed_and_its_budget_shown(desk: Desk, hudkit: Run, by: str) -> None:
    steps = [
        {"calls": [{"name": "bash", "arguments": {"command": f"echo {n}; seq 1 900"}}], "text": "so " * 900}
        for n in range(16)
    ]
    desk.config.write_text(
        "[windows]\nscripted = 16000\n[session]\nrecent_tokens = 9000\n"
        + ("summaries = false\n" if by == "setting" else "")
    )
    more = ["--no-summaries"] if by == "option" else []
    code, out, err = hudkit("run", "--json", "--yes", *more, "--script", desk.script(*steps, DONE), "Count")
    kinds = [fact["type"] for fact in facts(out)]
    assert code == 0, err
    assert kinds.count("trimmed") >= 1 and "compacting" not in kinds
    code, out, _ = hudkit("show", "--window")
    assert code == 0 and "Without summaries: tokens of each part, and what it may have" in out
    assert "messages and calls ~" in out and "of     9,000" in out
    assert hudkit("run", "--no-hud", "--no-summaries", "--script", desk.script(DONE), "Count")[0] == 2
