"""Makes the recorded sessions of this folder anew, with the real Claude Code and Codex against scripted models.

    python tests/transcripts/data/record_sessions.py [NAME …]

Nothing leaves the machine. What is long (prompts of the programs, schemas of tools) is replaced by its length and a
digest, and the paths are those of an invented user, so that the files stay small and name no machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from hudkit.context.caching import CallCost  # noqa: E402
from hudkit.models.captured_request import CapturedRequest  # noqa: E402
from hudkit.models.scripted_answers import Answer, Refusal, ScriptedCall, ScriptedReply, says, uses  # noqa: E402
from hudkit.testing.model_server import ScriptedModel  # noqa: E402
from npm_programs import CLAUDE_CODE, CODEX, executable  # noqa: E402
from responses_server import ResponsesServer  # noqa: E402

LONGEST = 300
"""Characters of a text that is kept as it is."""

ENDS = 60
"""Characters that are kept of both ends of a longer one."""

SUMMARY = "The ramp of the kiln is 80 per hour."
OURS = re.compile(r"<hud.*?</hud>|<(task-id|status|result)>.*?</\1>|" + re.escape(SUMMARY))
"""What is kept of the middle of a long text."""

MACHINE = re.compile(r"Linux \d[\w.\-]*|/tmp/claude-\d+")
SESSION = "0a1b2c3d-1111-4222-8333-{:012d}"
HOOK = """#!/bin/sh
event=$(sed 's/.*"hook_event_name":"\\([A-Za-z]*\\)".*/\\1/')
case $event in
SessionStart|UserPromptSubmit|PostToolUse|PostToolUseFailure|PostToolBatch)
  printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"<hud n=%s>told at %s</hud>"}}' \\
    $event $$ $event;;
esac
"""
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PreCompact"),
    *("PostCompact", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"),
)


class Place:
    """A home folder with a project, and a hook for every event."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="recorded"))
        self.home = self.root / "user"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        (self.project / "ramp.py").write_text("RAMP = 120\n")
        self.hook = self.home / "hook.sh"
        self.hook.write_text(HOOK)
        self.hook.chmod(0o755)

    def hooks(self) -> dict[str, Any]:
        """The hooks as both programs are told them."""
        return {event: [{"hooks": [{"type": "command", "command": str(self.hook)}]}] for event in EVENTS}

    def scrubbed(self, path: Path) -> str:
        """A recorded file without what belongs to this machine, its long texts shortened."""
        encoded = str(self.project).replace("/", "-")
        lines = []
        for line in path.read_text().splitlines():
            record = _shortened(json.loads(line))
            text = json.dumps(record, ensure_ascii=False)
            text = text.replace(encoded, "-home-user-project").replace(str(self.home), "/home/user")
            lines.append(MACHINE.sub(lambda found: found[0].split("-")[0].split(" ")[0], text))
        return "\n".join(lines) + "\n"


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        blocks = "".join(found[0] for found in OURS.finditer(value[ENDS:-ENDS]))
        digest = hashlib.sha256(value.encode()).hexdigest()[:12]
        return f"{value[:ENDS]} … ({len(value)} characters, {digest}){blocks} … {value[-ENDS:]}"
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, dict):
        schema = value.get("input_schema") or value.get("inputSchema")
        if schema is not None:
            digest = hashlib.sha256(json.dumps(schema).encode()).hexdigest()[:12]
            value = {**value, "input_schema": {"digest": digest}}
        return {key: _shortened(item) for key, item in value.items() if key != "inputSchema"}
    return value


# -- Claude Code -------------------------------------------------------------------------------------------------


class ClaudeRun:
    """Claude Code in a place; `script` holds the answers of the main agent, a subagent's are fixed."""

    def __init__(self, number: int) -> None:
        self.place = Place()
        self.session = SESSION.format(number)
        self.script: list[Answer] = []
        self.environment: dict[str, str] = {}
        self.model = ScriptedModel(self._answer)
        settings = self.place.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"hooks": self.place.hooks()}))

    def begin(self, prompt: str, *answers: Answer, args: tuple[str, ...] = ()) -> None:
        """Start the session."""
        self._run(prompt, answers, ("--session-id", self.session, *args))

    def compact_at(self, window: int, percent: int | None = None) -> None:
        """Let the host compact by itself: at the end of a window of so many tokens, or at so much of it."""
        self.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(window)
        if percent is not None:
            self.environment["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = str(percent)

    def resume(self, prompt: str, *answers: Answer, args: tuple[str, ...] = ()) -> None:
        """Go on in a new process."""
        self._run(prompt, answers, ("--resume", self.session, *args))

    def files(self) -> dict[str, str]:
        """The session's file and those of its subagents, by the name of the fixture's suffix."""
        (main,) = self.place.home.glob(f".claude/projects/*/{self.session}.jsonl")
        children = sorted(main.with_suffix("").glob("subagents/agent-*.jsonl"))
        texts = {"": self.place.scrubbed(main)}
        texts.update({f"/subagents/{child.name}": self.place.scrubbed(child) for child in children})
        return texts

    def last_response(self) -> str:
        """The id of the newest record of the assistant."""
        (main,) = self.place.home.glob(f".claude/projects/*/{self.session}.jsonl")
        records = map(json.loads, main.read_text().splitlines())
        return [record["uuid"] for record in records if record["type"] == "assistant"][-1]

    def close(self) -> None:
        """Stop the model and take the folder away."""
        self.model.close()
        shutil.rmtree(self.place.root, ignore_errors=True)

    def _run(self, prompt: str, answers: tuple[Answer, ...], args: tuple[str, ...]) -> None:
        self.script[:] = answers
        model = () if "--model" in args else ("--model", "claude-sonnet-4-5")
        mode = ("--permission-mode", "bypassPermissions", "--output-format", "json")
        command = [executable(CLAUDE_CODE), "-p", *mode, *model, *args, prompt]
        environment = {
            "HOME": str(self.place.home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            **self.environment,
        }
        _run(command, environment, self.place.project)

    def _answer(self, request: CapturedRequest) -> Answer:
        words = request.messages
        if "Respond with TEXT ONLY" in words[-1][1]:
            return says("<analysis>It was long.</analysis><summary>" + SUMMARY + "</summary>")
        if "Look for cracks" in words[0][1] and "overshoots" not in words[0][1]:
            ran = any(role == "tool" for role, _ in words)
            return says("No cracks found.") if ran else uses(ScriptedCall("Bash", {"command": "ls"}))
        return self.script.pop(0) if self.script else says("Done.")


def claude_day(run: ClaudeRun) -> None:
    """Two parallel calls of which one fails, an edit, a task, a subagent; a resume, a compaction, a resume."""
    file = str(run.place.project / "ramp.py")
    fails = ScriptedCall("Bash", {"command": "echo overshoot; exit 1"})
    task = ScriptedCall("TaskCreate", {"subject": "glaze the pot", "description": "The blue one"})
    look = {"description": "Look", "prompt": "Look for cracks.", "subagent_type": "general-purpose"}
    run.begin(
        "The kiln overshoots at 900 degrees. Never touch legacy/.",
        uses(ScriptedCall("Read", {"file_path": file}), fails, text="I look."),
        uses(ScriptedCall("Edit", {"file_path": file, "old_string": "120", "new_string": "80"})),
        uses(task),
        uses(ScriptedCall("Agent", look)),
        says("The ramp is 80 now."),
    )
    done = uses(ScriptedCall("TaskUpdate", {"taskId": "1", "status": "in_progress"}))
    run.resume("What is the ramp?", uses(ScriptedCall("Bash", {"command": "cat ramp.py"})), done, says("80."))
    run.resume("/compact keep the ramp")
    write = ScriptedCall("Write", {"file_path": str(run.place.project / "fire.txt"), "content": "hot\n"})
    run.resume("Write fire.txt.", uses(write), says("Written."))


def claude_rewind(run: ClaudeRun) -> None:
    """A prompt is taken back: another one stands in its place."""
    run.begin("The kiln is cold. Remember the number 7.", says("Seven."))
    kept = run.last_response()
    run.resume("Paint it red.", uses(ScriptedCall("Bash", {"command": "echo red"})), says("It is red."))
    run.resume("Paint it blue.", says("It is blue."), args=("--resume-session-at", kept))


def claude_breaks(run: ClaudeRun) -> None:
    """The prefix breaks: other tools, another model."""
    run.begin("The kiln is cold.", says("I see."))
    run.resume("Is it?", says("Yes."), args=("--append-system-prompt", "Answer briefly."))
    run.resume("Still?", says("Yes."), args=("--disallowed-tools=Edit",))
    run.resume("And now?", says("Yes."), args=("--model", "claude-haiku-4-5"))


def claude_full(run: ClaudeRun) -> None:
    """The window is full: the host compacts by itself."""
    full = CallCost(read=0, written=0, fresh=175_000, output=50)
    look = ScriptedCall("Bash", {"command": "echo 700 degrees"})
    run.begin(
        "How hot is the kiln?",
        ScriptedReply("I look.", (look,), usage=full, reasoning="The sensor tells."),
        uses(ScriptedCall("Bash", {"command": "echo 710 degrees"})),
        says("710 degrees."),
    )


def claude_refused(run: ClaudeRun) -> None:
    """The provider refuses a request; the next process goes on."""
    run.begin("The kiln is cold.", Refusal(400, "invalid_request_error", "", "no such thing"))
    run.resume("Again.", says("It is cold."))


def _filled(tokens: int, *calls: ScriptedCall, text: str = "") -> ScriptedReply:
    """A response whose request is reported with so many tokens, most of them read from the cache."""
    return ScriptedReply(text, calls, usage=CallCost(read=tokens * 9 // 10, written=tokens // 10, fresh=4, output=60))


def _bash(command: str) -> ScriptedCall:
    return ScriptedCall("Bash", {"command": command})


def claude_auto(run: ClaudeRun) -> None:
    """Rules and a decision, edits, a failed test; the host compacts by itself; the same file is read again."""
    run.compact_at(100_000)
    file = str(run.place.project / "ramp.py")
    read = ScriptedCall("Read", {"file_path": file})
    edit = ScriptedCall("Edit", {"file_path": file, "old_string": "120", "new_string": "80"})
    task = ScriptedCall("TaskCreate", {"subject": "check the cones", "description": "All of them"})
    run.begin(
        "Bring the kiln down to 80 degrees per hour. Never touch the folder legacy/. Always run the tests twice.",
        _filled(22_000, read, text="I read the ramp first."),
        _filled(31_000, task),
        _filled(43_000, edit, text="We decided to use cone 6 instead of cone 10, because the glaze runs at cone 10."),
        _filled(58_000, _bash("echo 1 failed, 3 passed; exit 1")),
        _filled(95_000, _bash("echo 700 degrees")),
        _filled(24_000, read, text="I look at the ramp again."),
        _filled(26_000, _bash("echo 4 passed")),
        says("The ramp is 80 now."),
    )
    run.resume("And the cones?", _filled(27_000, _bash("ls")), says("Cone 6."))


def claude_thrash(run: ClaudeRun) -> None:
    """One compaction follows the other, until the host gives up."""
    run.compact_at(100_000, 30)
    looks = [_filled(tokens, _bash(f"echo {n}")) for n, tokens in enumerate((20_000, 26_000, 90_000, 95_000))]
    run.begin("How hot is the kiln? Never open the door.", *looks, says("730 degrees."))


def claude_overflow(run: ClaudeRun) -> None:
    """The provider says that the prompt is too long: the host compacts and asks again."""
    too_long = Refusal(400, "invalid_request_error", "", "prompt is too long: 205000 tokens > 200000 maximum")
    run.begin(
        "Read the log of the kiln. Do not print passwords.",
        _filled(21_000, _bash("echo 700 degrees")),
        too_long,
        _filled(22_000, _bash("echo 710 degrees")),
        says("710 degrees."),
    )


def claude_agents(run: ClaudeRun) -> None:
    """Two sub-agents in one response, beside a command that fails; a third one after a resume."""
    look = {"description": "Look", "prompt": "Look for cracks.", "subagent_type": "general-purpose"}
    twice = (ScriptedCall("Agent", look), ScriptedCall("Agent", look), _bash("make fire; exit 2"))
    run.begin("The kiln overshoots: ask the others.", ScriptedReply("", twice), says("Asked."), says("No cracks."))
    run.resume("Once more.", uses(ScriptedCall("Agent", look)), says("Asked."), says("None."))


def claude_long(run: ClaudeRun) -> None:
    """Forty calls in eight prompts, two compactions on request, a resume for each prompt."""
    file = str(run.place.project / "ramp.py")
    edit = ScriptedCall("Edit", {"file_path": file, "old_string": "120", "new_string": "80"})
    run.begin(
        "Mend the firing schedule. Use tabs in Python files. The port must stay 8443.",
        uses(ScriptedCall("Read", {"file_path": file}), _bash("ls"), _bash("cat ramp.py")),
        uses(edit, text="We use a cone sensor rather than a timer, because timers drift."),
        uses(_bash("python3 -m pytest -q; exit 1")),
        says("It is done, but a test fails."),
    )
    for turn in range(1, 8):
        if turn in (3, 6):
            run.resume("/compact keep the schedule")
        steps = [uses(_bash(f"echo step {turn}.{n}")) for n in range(3)]
        write = ScriptedCall("Write", {"file_path": str(run.place.project / f"step{turn}.txt"), "content": "hot\n"})
        run.resume(f"Go on with part {turn}.", *steps, uses(write), says(f"Part {turn} is done."))


# -- Codex -------------------------------------------------------------------------------------------------------


class CodexRun:
    """Codex in a place; each entry of `script` holds the output items of one response."""

    def __init__(self, number: int) -> None:
        self.place = Place()
        self.number = number
        self.script: list[list[dict[str, Any]]] = []
        self.home = self.place.home / ".codex"
        self.home.mkdir()
        (self.home / "hooks.json").write_text(json.dumps({"hooks": self.place.hooks()}))
        self.server = ResponsesServer(self._answer)
        (self.home / "config.toml").write_text(self.server.provider())

    def begin(self, prompt: str, *answers: list[dict[str, Any]], args: tuple[str, ...] = ()) -> None:
        """Start the session."""
        self._run((), prompt, answers, args)

    def resume(self, prompt: str, *answers: list[dict[str, Any]], args: tuple[str, ...] = ()) -> None:
        """Go on in a new process."""
        self._run(("resume", self._main().stem[-36:]), prompt, answers, args)

    def files(self) -> dict[str, str]:
        """The session's file first, then those of its subagents."""
        main = self._main()
        others = sorted(path for path in self.home.rglob("rollout-*.jsonl") if path != main)
        texts = {"": self.place.scrubbed(main)}
        texts.update({f"-child-{n}": self.place.scrubbed(path) for n, path in enumerate(others)})
        return texts

    def close(self) -> None:
        """Stop the model and take the folder away."""
        self.server.close()
        shutil.rmtree(self.place.root, ignore_errors=True)

    def call(self, name: str, arguments: Mapping[str, Any], namespace: str = "") -> dict[str, Any]:
        """A call of a function."""
        within = {"namespace": namespace} if namespace else {}
        body = {
            "name": name,
            "arguments": json.dumps(arguments),
            "call_id": f"call_{self.server.next_id()}",
            **within,
        }
        return {"type": "function_call", "id": f"fc_{self.server.next_id()}", **body}

    def free_call(self, name: str, text: str) -> dict[str, Any]:
        """A call of a tool that takes a text."""
        body = {"name": name, "input": text, "call_id": f"call_{self.server.next_id()}", "status": "completed"}
        return {"type": "custom_tool_call", "id": f"ctc_{self.server.next_id()}", **body}

    def says(self, text: str) -> dict[str, Any]:
        """Words of the model."""
        return self.server.says(text)

    def _main(self) -> Path:
        return min(self.home.rglob("rollout-*.jsonl"))

    def _run(
        self, command: tuple[str, ...], prompt: str, answers: tuple[list[dict[str, Any]], ...], args: tuple[str, ...]
    ) -> None:
        self.script[:] = answers
        model = () if "--model" in args else ("--model", "gpt-5-codex")
        trust = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        environment = {
            "HOME": str(self.place.home),
            "CODEX_HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "XKEY": "x",
        }
        line = [executable(CODEX), "exec", *command, "--skip-git-repo-check", *trust, "--json", *model, *args, prompt]
        _run(line, environment, self.place.project)

    def _answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        last = json.dumps(body["input"][-1])
        prompts = json.dumps([item for item in body["input"] if item.get("role") == "user"])
        if "CONTEXT CHECKPOINT COMPACTION" in last:
            return [self.says(SUMMARY)]
        if "Look for cracks" in prompts and "overshoots" not in prompts:
            return [self.says("No cracks found.")]
        return self.script.pop(0) if self.script else [self.says("Done.")]


def codex_day(run: CodexRun) -> None:
    """Two calls of which one fails, an edit, a resume with a compaction, a resume."""
    fails = run.call("exec_command", {"cmd": "echo overshoot; exit 1"})
    run.begin(
        "The kiln overshoots at 900 degrees. Never touch legacy/.",
        [run.says("I look."), run.call("exec_command", {"cmd": "cat ramp.py"}), fails],
        [run.call("exec_command", {"cmd": "sed -i s/120/80/ ramp.py"})],
        [run.says("The ramp is 80 now.")],
    )
    look = [run.call("exec_command", {"cmd": "cat ramp.py"})]
    limit = ("-c", "model_auto_compact_token_limit=9000")
    run.resume("What is the ramp of the kiln?", look, [run.says("80.")], args=limit)
    run.resume("Write fire.txt.", [run.call("exec_command", {"cmd": "echo hot > fire.txt"})], [run.says("Written.")])


def codex_long(run: CodexRun) -> None:
    """Rules, a patch, a failed test; two compactions, another model."""
    patch = "*** Begin Patch\n*** Update File: ramp.py\n@@\n-RAMP = 120\n+RAMP = 80\n*** End Patch"
    run.begin(
        "Bring the kiln down to 80 degrees per hour. Never touch the folder legacy/. Always run the tests twice.",
        [run.call("exec_command", {"cmd": "cat ramp.py"}), run.call("exec_command", {"cmd": "ls"})],
        [run.call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"})],
        [run.call("exec_command", {"cmd": "echo 1 failed, 3 passed; exit 1"})],
        [run.says("We decided to use cone 6 instead of cone 10, because the glaze runs. The ramp is 80 now.")],
    )
    limit = ("-c", "model_auto_compact_token_limit=9000")
    for turn in range(2):
        look = [run.call("exec_command", {"cmd": "cat ramp.py"})]
        run.resume(f"Go on with part {turn}.", look, [run.says(f"Part {turn} is done.")], args=limit)
    run.resume("Which cone?", [run.says("Cone 6.")], args=("--model", "gpt-5"))


def codex_parallel(run: CodexRun) -> None:
    """Three calls in one response, two of which fail; a call of a tool that is not there; a resume."""
    fails = [run.call("exec_command", {"cmd": f"echo crack {n}; exit {n}"}) for n in range(3)]
    nothing = [run.call("no_such_tool", {"x": 1})]
    run.begin("Look for cracks in all shelves, the kiln overshoots.", fails, nothing, [run.says("Two cracks.")])
    run.resume("Sure?", [run.call("exec_command", {"cmd": "echo no crack"})], [run.says("Quite.")])


def codex_agents(run: CodexRun) -> None:
    """A sub-agent is started, and works meanwhile."""
    run.begin(
        "The kiln overshoots: ask another.",
        [run.call("spawn_agent", {"message": "Look for cracks."}, "multi_agent_v1")],
        [run.call("exec_command", {"cmd": "sleep 1"})],
        [run.says("No cracks.")],
    )


CLAUDE: dict[str, Callable[[ClaudeRun], None]] = {
    "claude-day": claude_day,
    "claude-rewind": claude_rewind,
    "claude-breaks": claude_breaks,
    "claude-full": claude_full,
    "claude-refused": claude_refused,
    "claude-auto": claude_auto,
    "claude-thrash": claude_thrash,
    "claude-overflow": claude_overflow,
    "claude-agents": claude_agents,
    "claude-long": claude_long,
}
CODEX_SESSIONS: dict[str, Callable[[CodexRun], None]] = {
    "codex-day": codex_day,
    "codex-long": codex_long,
    "codex-parallel": codex_parallel,
    "codex-agents": codex_agents,
}


def _run(command: list[Any], environment: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(
        command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    if "--verbose" in sys.argv:
        print(done.returncode, done.stdout[-1500:], done.stderr[-500:])


def record(name: str) -> None:
    """Write the files of one session."""
    number = [*CLAUDE, *CODEX_SESSIONS].index(name) + 1
    run: ClaudeRun | CodexRun
    if name in CLAUDE:
        run = claude = ClaudeRun(number)
        CLAUDE[name](claude)
    else:
        run = codex = CodexRun(number)
        CODEX_SESSIONS[name](codex)
    shutil.rmtree(HERE / name, ignore_errors=True)
    for suffix, text in run.files().items():
        path = HERE / f"{name}{suffix}" if suffix.endswith(".jsonl") else HERE / f"{name}{suffix}.jsonl"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        print(f"{path.relative_to(HERE)}: {len(text):,} characters")
    run.close()


if __name__ == "__main__":
    for wanted in [arg for arg in sys.argv[1:] if not arg.startswith("-")] or [*CLAUDE, *CODEX_SESSIONS]:
        record(wanted)
