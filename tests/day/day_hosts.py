"""How the day is done in each host: on the driver of its conformance suite, with the installation that its user does.

A new host is a class here and a line in `HOSTS`. Steps that a host does not have are in its `missing`, with the words
by which its page says so.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from hudkit.daemon import client
from hudkit.models.captured_request import KIND_MARKS, CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.host_conformance import HostConformance, HostWorkspace, with_full_window
from hudkit.testing.model_server import ScriptedModel

_NO_DAEMON: Mapping[str, str] = {"kill-daemon": "there is no daemon"}

SECONDS = 300.0
"""Seconds after which a command is given up, however busy the machine is."""


def hudkit_variables(place: HostWorkspace) -> dict[str, str]:
    """Variables by which everything of hudkit is in the home of a day."""
    return {
        "HUDKIT_DATA": str(place.log.parent),
        "HUDKIT_DB": str(place.log),
        "HUDKIT_SOCKET": str(socket_of(place)),
        "HUDKIT_CONFIG": str(settings_of(place)),
        "HUDKIT_HOOK_PATIENCE": "30",
        **{name: os.environ[name] for name in ("PYTHONPATH", "HUDKIT_DAY_CLOCK") if name in os.environ},
    }


def socket_of(place: HostWorkspace) -> Path:
    """Where the daemon of a day is reached."""
    return place.log.parent / "run" / "daemon.sock"


def settings_of(place: HostWorkspace) -> Path:
    """Where the person's settings of a day would be; there are none at first."""
    return place.log.parent.parent / "config" / "config.toml"


class DayHost:
    """The day in a host, for a subclass that also is a subclass of the host's `HostConformance`."""

    title: ClassVar[str]
    page: ClassVar[str]
    installs: ClassVar[str] = ""
    """What `hudkit install` calls the host; empty: it is used from a program, and nothing is installed."""
    missing: ClassVar[Mapping[str, str]] = {}
    """Kinds of steps that the host does not have, each with words of its page."""

    forgets_killed_turns: ClassVar[bool] = False
    """The host's own conversation is without a turn in which its process was killed."""

    orders_by_clock: ClassVar[bool] = False
    """The host takes what its clock says is the latest for the latest: where the clock goes back, its own
    conversation goes back, too."""

    def has_written(self, place: HostWorkspace, session: str, prompt: str, request: CapturedRequest) -> bool:
        """Whether the host has on disk a prompt, and the results of calls that a request tells of: what it has not,
        nobody knows when its process is killed."""
        del place, session, prompt, request
        return True

    def day_place(self, home: Path, project: Path, url: str) -> HostWorkspace:
        """Return where the host works, in the home of a day."""
        window: tuple[int, int] = self.small_window  # type: ignore[attr-defined]
        return HostWorkspace(project, home / "data" / "hudkit.db", home / self.title_folder, url, window)

    @property
    def title_folder(self) -> str:
        return self.title.replace(" ", "-").lower()

    def environment(self, place: HostWorkspace) -> dict[str, str]:
        """Return the environment of the host's user, for commands of hudkit."""
        return {**os.environ, **hudkit_variables(place)}

    def install(self, place: HostWorkspace) -> None:
        """Install the HUD as a user does, and let its deadlines be long: others are at work on the machine."""
        place.folder.mkdir(parents=True, exist_ok=True)
        if self.installs:
            run_hudkit(self.environment(place), place.project, "install", self.installs, "--anyway")

    def before_uninstall(self, place: HostWorkspace) -> None:
        """Take back what a test has changed of the installation."""

    def reopen_before(self, place: HostWorkspace, session: str, prompt: str) -> bool:
        """Have the next `open` go on before a prompt, where that is how the host takes back; return whether it is."""
        del place, session, prompt
        return False

    def compact(self, talk: Any, model: ScriptedModel) -> None:
        """Have the conversation compacted now; here by the agent, with its tool."""
        model.play(with_full_window(uses(ScriptedCall("hud_compact", {}))), says("Going on."))
        talk.say("Compact now, please.")


def run_hudkit(env: Mapping[str, str], folder: Path, *words: str, fails: bool = False, given: str = "") -> str:
    """Run a command of hudkit in a process of its own; return what it printed. `fails`: it must."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hudkit", *words],
        env=dict(env), cwd=folder, input=given, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert bool(done.returncode) is fails, f"hudkit {words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _answer_before(file: Path, prompt: str) -> str:
    """The id of the last response in a session's file of Claude Code that stands before a prompt."""
    answer = found = ""
    for line in file.read_text("utf-8").splitlines():
        record = json.loads(line)
        if record.get("type") == "assistant":
            answer = record["uuid"]
        elif record.get("type") == "user" and prompt in as_text(record.get("message", {}).get("content", "")):
            found = answer
    assert found, f"{prompt!r} is not in {file}"
    return found


def _has_written(file: Path, prompt: str, request: CapturedRequest) -> bool:
    """Whether a prompt, and each result of a call that a request has, stand in a session's file of Claude Code."""
    lines = file.read_text("utf-8").splitlines(keepends=True)
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    said = [record.get("message", {}).get("content", "") for record in records if record.get("type") == "user"]
    answered = {block.get("tool_use_id") for content in said if isinstance(content, list) for block in content}
    return any(prompt in as_text(content) for content in said) and answered >= {
        block["tool_use_id"]
        for message in request.body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block.get("type") == "tool_result"
    }


def _suite(module: str, name: str) -> Any:
    """A suite by its module; a test module's own classes are not to be collected here."""
    return getattr(importlib.import_module(module), name)


def _session() -> HostConformance:
    from hudkit.agent.hooks import points

    hooks: Any = points.HOOKS

    class SessionDay(DayHost, _suite("test_loop_conforms", "TestSession")):  # type: ignore[misc]
        title = "session loop"
        page = "agent.md"
        missing = _NO_DAEMON

        def day_place(self, home: Path, project: Path, url: str) -> HostWorkspace:
            return replace(super().day_place(home, project, url), folder=home)

        def data(self, place: HostWorkspace, session: str) -> Path:
            del session
            hooks.update({name: replace(hook, seconds=120.0) for name, hook in hooks.items()})  # a busy machine
            return place.log.parent

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.compact()

    return SessionDay()


def _opencode() -> HostConformance:
    from opencode_host import OpenCode

    from plugin_clock import patient

    module = importlib.import_module("test_opencode_conforms")

    class OpenCodeDay(DayHost, module.TestOpenCode):  # type: ignore[misc,name-defined]
        title = "OpenCode"
        page = "opencode.md"
        installs = "opencode"

        def _host(self, place: HostWorkspace) -> OpenCode:
            (place.folder).mkdir(parents=True, exist_ok=True)
            project = str(place.project)
            return OpenCode(place.folder, place.url, limit=place.limit, project=project, env=hudkit_variables(place))

        def environment(self, place: HostWorkspace) -> dict[str, str]:
            with self._host(place) as host:
                return host.env

        def install(self, place: HostWorkspace) -> None:
            super().install(place)
            self._as_written = self._plugin(place).read_text()
            self._plugin(place).write_text(patient(self._as_written))

        def before_uninstall(self, place: HostWorkspace) -> None:
            self._plugin(place).write_text(self._as_written)

        def _plugin(self, place: HostWorkspace) -> Path:
            return place.log.parent / "plugins" / "opencode" / "hudkit.js"

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            del hud, resume
            with self._host(place) as host:
                host.serve()
                known = place.folder / f"{session}.id"
                if not known.exists():
                    known.write_text(host.create(session))
                yield module.Talking(host, known.read_text())

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.compact()

    return OpenCodeDay()


def _claude_code() -> HostConformance:
    from uuid import UUID, uuid5

    from claude_host import ClaudeCode, be_patient, environment

    from npm_programs import CLAUDE_CODE, executable

    module = importlib.import_module("test_claude_code_conforms")
    names = UUID("da150000-0000-4000-8000-000000000000")

    class ClaudeCodeDay(DayHost, module.TestClaudeCode):  # type: ignore[misc,name-defined]
        title = "Claude Code"
        page = "claude-code.md"
        installs = "claude-code"
        _resume_at = ""

        def environment(self, place: HostWorkspace) -> dict[str, str]:
            programs = place.folder.parent / "bin"
            programs.mkdir(parents=True, exist_ok=True)
            if not (programs / "claude").exists():
                (programs / "claude").symlink_to(executable(CLAUDE_CODE))
            (place.folder).mkdir(parents=True, exist_ok=True)
            path = os.pathsep.join((str(programs), os.environ["PATH"]))
            return environment(place.folder, place.url, {**hudkit_variables(place), "PATH": path})

        def install(self, place: HostWorkspace) -> None:
            super().install(place)
            plugin = place.log.parent / "plugins" / "claude-code" / "hudkit"
            self._as_written = (plugin / "hooks" / "register.js").read_text()
            be_patient(plugin)

        def before_uninstall(self, place: HostWorkspace) -> None:
            plugin = place.log.parent / "plugins" / "claude-code" / "hudkit"
            (plugin / "hooks" / "register.js").write_text(self._as_written)

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            del hud, resume
            id = str(uuid5(names, f"{place.folder}/{session}"))
            begun = bool(list(place.folder.glob(f".claude/projects/*/{id}.jsonl")))
            (place.project / "CLAUDE.md").write_text(place.instructions)
            env = self.environment(place)
            more = ("--resume-session-at", self._resume_at) if self._resume_at else ()
            self._resume_at = ""
            with ClaudeCode(
                place.folder, place.project, place.url, id, resume=begun, env=env, arguments=more
            ) as host:
                yield module.Talk(host)

        def has_written(self, place: HostWorkspace, session: str, prompt: str, request: CapturedRequest) -> bool:
            files = place.folder.glob(f".claude/projects/*/{uuid5(names, f'{place.folder}/{session}')}.jsonl")
            return any(_has_written(file, prompt, request) for file in files)

        def reopen_before(self, place: HostWorkspace, session: str, prompt: str) -> bool:
            id = uuid5(names, f"{place.folder}/{session}")
            (file,) = place.folder.glob(f".claude/projects/*/{id}.jsonl")
            self._resume_at = _answer_before(file, prompt)
            return True

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.say("/compact")

    return ClaudeCodeDay()


def _codex() -> HostConformance:
    from codex_host import Codex

    module = importlib.import_module("test_codex_conforms")

    class CodexDay(DayHost, module.TestCodex):  # type: ignore[misc,name-defined]
        title = "Codex"
        page = "codex.md"
        installs = "codex"
        missing: ClassVar[Mapping[str, str]] = {"sub-agent": "Sub-agents work in the background"}

        def _codex(self, place: HostWorkspace) -> Codex:
            window, compact_at = -(-place.limit[0] * 100 // 95), place.limit[0] * 7 // 8
            (place.folder).mkdir(parents=True, exist_ok=True)
            return Codex(
                place.folder, place.url, project=place.project, window=window, compact_at=compact_at,
                env=hudkit_variables(place),
            )  # fmt: skip

        def environment(self, place: HostWorkspace) -> dict[str, str]:
            return self._codex(place).env

        def install(self, place: HostWorkspace) -> None:
            super().install(place)
            codex = self._codex(place)
            codex.trust()
            codex.start_daemon()

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            del hud, resume
            codex = self._codex(place)
            with codex.serve() as server:
                known = place.folder / f"{session}.id"
                if known.exists():
                    server.resume(known.read_text())
                else:
                    known.write_text(server.begin(baseInstructions=place.instructions))
                yield module.Talking(server, known.read_text())

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.compact()

    return CodexDay()


def _pi() -> HostConformance:
    from pi_host import Pi, environment

    from plugin_clock import patient

    module = importlib.import_module("test_pi_conforms")

    class PiDay(DayHost, module.TestPi):  # type: ignore[misc,name-defined]
        title = "pi"
        page = "pi.md"
        installs = "pi"

        def environment(self, place: HostWorkspace) -> dict[str, str]:
            return environment(place.folder, place.url, hudkit_variables(place))

        def install(self, place: HostWorkspace) -> None:
            (place.folder / ".pi" / "agent").mkdir(parents=True, exist_ok=True)
            super().install(place)
            file = self._extension(place)
            self._as_written = file.read_text()
            file.write_text(patient(self._as_written))

        def before_uninstall(self, place: HostWorkspace) -> None:
            self._extension(place).write_text(self._as_written)

        def _extension(self, place: HostWorkspace) -> Path:
            return place.folder / ".pi" / "agent" / "extensions" / "hudkit.js"

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            del hud, resume
            known = place.folder / f"{session}.id"
            id = known.read_text() if known.exists() else session
            env = hudkit_variables(place)
            with Pi(place.folder, place.project, place.url, id, limit=place.limit, env=env) as host:
                yield module.Talk(host)
                known.write_text(host.session)  # going back has made another one of it

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.host.ask("compact")

    return PiDay()


def _langchain() -> HostConformance:
    class LangChainDay(DayHost, _suite("lc_driver", "LangChainHost")):  # type: ignore[misc]
        title = "LangChain"
        page = "langchain.md"
        missing = _NO_DAEMON
        orders_by_clock = True  # checkpoints have ids that begin with the time

    return LangChainDay()


def _pydantic_ai() -> HostConformance:
    class PydanticAIDay(DayHost, _suite("pydantic_ai_host", "PydanticAIHost")):  # type: ignore[misc]
        title = "pydantic-ai"
        page = "pydantic-ai.md"
        missing = _NO_DAEMON
        forgets_killed_turns = True

    return PydanticAIDay()


def _openai_agents() -> HostConformance:
    class OpenAIAgentsDay(DayHost, _suite("openai_agents_host", "AgentsHost"), HostConformance):  # type: ignore[misc]
        title = "OpenAI Agents"
        page = "openai-agents.md"
        missing = _NO_DAEMON

    return OpenAIAgentsDay()


def _google_adk() -> HostConformance:
    set_time_provider = _suite("google.adk.platform.time", "set_time_provider")

    class GoogleAdkDay(DayHost, _suite("adk_host", "AdkHost")):  # type: ignore[misc]
        title = "Google ADK"
        page = "google-adk.md"
        orders_by_clock = True  # its sessions give their events in the order of their times
        missing: ClassVar[Mapping[str, str]] = {**_NO_DAEMON, "compact": "The agent cannot ask for a compaction"}

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            set_time_provider(lambda: time.time())  # ADK took the function before a day could change its clock
            with super().open(place, session, hud=hud, resume=resume) as talk:
                yield talk

    return GoogleAdkDay()


def _claude_agent_sdk() -> HostConformance:
    sdk_host = importlib.import_module("sdk_host")

    class ClaudeAgentSdkDay(DayHost, sdk_host.ClaudeAgentSdkHost):  # type: ignore[misc]
        title = "Claude Agent SDK"
        page = "claude-agent-sdk.md"
        missing = _NO_DAEMON
        _resume_at = ""

        @contextmanager
        def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Any]:
            more = {"resume_session_at": self._resume_at} if self._resume_at else {}
            self._resume_at = ""
            with sdk_host.conversation(place, session, hud=hud, resume=resume, **more) as talk:
                yield talk

        def has_written(self, place: HostWorkspace, session: str, prompt: str, request: CapturedRequest) -> bool:
            file = sdk_host.transcript_of(place, session)
            return file is not None and _has_written(file, prompt, request)

        def reopen_before(self, place: HostWorkspace, session: str, prompt: str) -> bool:
            file = sdk_host.transcript_of(place, session)
            self._resume_at = _answer_before(file, prompt)
            return True

        def compact(self, talk: Any, model: ScriptedModel) -> None:
            del model
            talk.say("/compact")

    return ClaudeAgentSdkDay()


def _gateway() -> HostConformance:
    class GatewayDay(DayHost, _suite("test_gateway_conforms", "TestOpenAIChat")):  # type: ignore[misc]
        title = "gateway"
        page = "gateway.md"
        forgets_killed_turns = True  # its client writes a turn down when it is over
        missing: ClassVar[Mapping[str, str]] = {**_NO_DAEMON, "compact": "the agent cannot ask for a compaction"}

    return GatewayDay()


HOSTS: Mapping[str, Callable[[], Any]] = {
    "session": _session,
    "opencode": _opencode,
    "claude-code": _claude_code,
    "codex": _codex,
    "pi": _pi,
    "langchain": _langchain,
    "pydantic-ai": _pydantic_ai,
    "openai-agents": _openai_agents,
    "google-adk": _google_adk,
    "claude-agent-sdk": _claude_agent_sdk,
    "gateway": _gateway,
}
"""The hosts in the order in which a task is handed on: the last one's goes to the first."""

DAY_MARKS = {
    **KIND_MARKS,
    "compaction": (*KIND_MARKS.get("compaction", ()), "You are a context summarization assistant."),
}
"""How requests for titles and summaries are known, of all hosts."""


def next_host(name: str) -> str:
    """The host that takes the task up."""
    names = list(HOSTS)
    return names[(names.index(name) + 1) % len(names)]


def has_daemon(name: str) -> bool:
    """Whether the host asks a daemon."""
    return name in ("opencode", "claude-code", "codex", "pi")


def end_daemon(place: HostWorkspace) -> None:
    """End the daemon of a day where there is one, and wait for its end."""
    from waiting import until

    socket = socket_of(place)
    if socket.exists():
        client.stop(socket)
        until(lambda: client.is_gone(socket), "the daemon does not end")


def as_text(value: object) -> str:
    """A value as JSON text, to look words up in."""
    return json.dumps(value, ensure_ascii=False)
