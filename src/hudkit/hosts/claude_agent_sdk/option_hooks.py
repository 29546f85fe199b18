"""The HUD in the options of the Claude Agent SDK: its hooks, and its tools, answered in this process.

The SDK runs Claude Code, which keeps each text that a hook gave in its own transcript. So a text is sent once, by
the hook after which it is due: the base with the first prompt and behind a compaction, what changed with a prompt or
with the results of tools. `HookSession` reads in the transcript which of them stand there.

The base is not in the system prompt. The SDK takes that when the process starts, so what it said then would stand
beside the newer base of each compaction.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import anyio.to_thread
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ContextUsageResponse, McpServerConfig

from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.hosts.claude_agent_sdk.program_hooks import SERVER, TOOL_NAMES, ProgramHooks
from hudkit.hosts.hook_wire import CallerFacts
from hudkit.hosts.in_process_hooks import InProcessHooks
from hudkit.transcripts import open_claude
from hudkit.transcripts.search import TranscriptSource, claude_projects

HOST = "claude-code"
"""What the host is called in a log: a session of the SDK is one of Claude Code, which can go on with it."""

_SILENT_HOST = {"CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off"}
"""What keeps Claude Code from telling the model how many tokens remain."""


class HudHooks:
    """The HUD for the agents of a program.

    hud = HudHooks()
    async with ClaudeSDKClient(hud.options(ClaudeAgentOptions(model="claude-sonnet-5"))) as client:
        ...
    """

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        resume: str = "",
        remaining_tokens: Literal["host", "hud"] = "host",
    ) -> None:
        """Take what is needed to open the log later. `hud` is an open `Hud` (its owner closes it), the path of a log,
        or nothing: the user's own log, which all hosts share.

        `project` is the directory of the project (default: `cwd` of the first options). `resume` is a session of
        any host whose task the first session takes up. `remaining_tokens` says who tells the model how full its
        window is: Claude Code, where it does (its number need not be the window's), or the HUD, and then Claude Code
        is told to be silent.
        """
        if remaining_tokens not in ("host", "hud"):
            raise ConfigError(f"remaining_tokens is {remaining_tokens!r}", hint='It is "host" or "hud"')
        self._hud = hud
        self._project = project
        self._resume = resume
        self._remaining = remaining_tokens
        self._answers: InProcessHooks | None = None
        self._programs: WeakKeyDictionary[object, ProgramHooks] = WeakKeyDictionary()

    def options(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """Return a copy of the options with the HUD's hooks and tools; hooks, tools and servers that they have stay.

        They are for `query` and `ClaudeSDKClient`, for one session or several. Options that have the HUD already are
        returned as they are. Raises `ConfigError` where the options name a file of servers that cannot be read.
        """
        options = options if options is not None else ClaudeAgentOptions()
        servers = _servers(options)
        if self._program(servers) is not None:
            return options
        if self._answers is None:
            self._answers = self._open(options)
        tells = None if self._remaining == "host" else False
        program = ProgramHooks(
            self._answers, options, CallerFacts(tells_remaining=tells, echoes=True), self._take_resume
        )
        hooks = {str(event): [*matchers] for event, matchers in (options.hooks or {}).items()}
        for event, matcher in program.hooks().items():
            hooks.setdefault(event, []).append(matcher)
        server = program.server()
        self._programs[server["instance"]] = program
        return replace(
            options,
            hooks=cast("Any", hooks),
            mcp_servers={**servers, SERVER: server},
            allowed_tools=[*dict.fromkeys((*options.allowed_tools, *TOOL_NAMES))],
            env={**options.env, **(_SILENT_HOST if self._remaining == "hud" else {})},
        )

    async def read_usage(self, client: ClaudeSDKClient) -> ContextUsageResponse:
        """Ask Claude Code how full the window of a client is, use the answer with the next hook, and return it.

        Without it, usage is what responses report, and the window that of the model by its name. Claude Code counts
        anew for the answer, with some thirty requests: it is worth it for a model whose window nobody else knows.
        """
        usage = await client.get_context_usage()
        program = self._program(_servers(client.options))
        if program is not None:
            program.measured(usage)
        return usage

    async def flush(self) -> None:
        """Wait until what the turns ended with is recorded: Claude Code writes it down some time after it said so."""
        if self._answers is not None:
            await anyio.to_thread.run_sync(self._answers.flush)

    def close(self) -> None:
        """Record what is left, and close the log where it was opened here; twice is harmless."""
        if self._answers is not None:
            self._answers.close()

    def _program(self, servers: Mapping[str, McpServerConfig]) -> ProgramHooks | None:
        instance = cast("Mapping[str, Any]", servers.get(SERVER) or {}).get("instance")
        return None if instance is None else self._programs.get(instance)

    def _take_resume(self) -> str:
        other, self._resume = self._resume, ""
        return other

    def _open(self, options: ClaudeAgentOptions) -> InProcessHooks:
        folder = claude_projects({**os.environ, **options.env})
        elsewhere = isinstance(self._hud, Hud) or folder != claude_projects()
        source = TranscriptSource(HOST, folder, open_claude) if elsewhere else None
        return InProcessHooks(self._hud, host=HOST, project=self._project or options.cwd, transcript=source)


def _servers(options: ClaudeAgentOptions) -> Mapping[str, McpServerConfig]:
    """The servers of the options; they may be named by a file or as JSON. Raises `ConfigError`."""
    servers = options.mcp_servers
    if isinstance(servers, dict):
        return servers
    text = str(servers)
    try:
        if not text.lstrip().startswith("{"):
            text = (Path(options.cwd or "") / text).read_text(encoding="utf-8-sig")
        named = json.loads(text)["mcpServers"]
        return cast("Mapping[str, McpServerConfig]", {**named})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"mcp_servers is {str(servers)[:80]!r}, and no servers can be read there", hint="Give them as a dict"
        ) from error
