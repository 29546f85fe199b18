"""Checks of the hosts: OpenCode and our plugin in it, MCP clients, and models' servers on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import hudkit
from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.config import load
from hudkit.errors import ConfigError
from hudkit.hosts.installing import user_environment
from hudkit.hosts.installing.config_files import read_text
from hudkit.hosts.installing.jsonc import parse_jsonc
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS
from hudkit.hosts.mcp.client_install import CLIENTS, SERVER_NEEDS, InstalledServer, entry_program, recorded_servers
from hudkit.hosts.opencode import plugin_install
from hudkit.hosts.opencode.plugin import generate_plugin, read_paths
from hudkit.hosts.opencode.plugin_install import PluginManifest, read_installed
from hudkit.hosts.opencode.versions import find_programs, generation_of, program_version
from hudkit.models import RequestRejected
from hudkit.models.local_server import LocalServer
from hudkit.tokens import window_of

KNOWN_GOOD = "1.18.33"
"""The version of OpenCode that the plugin is tried with."""

PLUGIN_BYTES = 1024 * 1024
_AGAIN = "hudkit install opencode"


def _program(here: CheckEnvironment) -> Diagnosis:
    programs = find_programs({**here.env, "HOME": str(here.home)})
    if not programs and _is_elsewhere(here):
        return good("not found in PATH, and not needed")
    if not programs:
        return warn("opencode is not found in PATH", "Install OpenCode, or put it into PATH")
    findings = [_judged(program, here) for program in programs]
    return gravest(findings, "; ".join(finding.words for finding in findings))


def _judged(path: Path, here: CheckEnvironment) -> Diagnosis:
    try:
        version = program_version(path, here.env)
    except (OSError, subprocess.SubprocessError) as error:
        return warn(f"`{path} --version` gives no answer ({type(error).__name__})", "Is OpenCode installed rightly?")
    if not version:
        return warn(f"`{path} --version` names no version", "Is it OpenCode?")
    if generation_of(version) == 2:
        manifest = _known(here)
        loaders = () if isinstance(manifest, Diagnosis) else manifest.configurations
        if not isinstance(manifest, Diagnosis) and not any(record.file.endswith(".js") for record in loaders):
            problem = f"version {version} at {path} does not load the plugin as it was installed for OpenCode 1"
            return fail(problem, f"{_AGAIN}, which sees that OpenCode 2 is there")
        hint = "Say the version in a bug report where something is wrong"
        return warn(f"version {version} at {path}; hudkit was tried with a stand-in for OpenCode 2 only", hint)
    if version != KNOWN_GOOD:
        hint = "It probably works; where it does not, say the version in a bug report"
        return warn(f"version {version} at {path}; hudkit is tried with {KNOWN_GOOD}", hint)
    return good(f"version {version} at {path}")


def _plugin(here: CheckEnvironment) -> Diagnosis:
    """Whether it is installed, there, and listed."""
    manifest = _known(here)
    if isinstance(manifest, Diagnosis):
        return manifest
    if not Path(manifest.plugin).is_file():
        return fail(f"the plugin {manifest.plugin} is gone", _AGAIN)
    listing, odd = [], []
    for configuration in manifest.configurations:
        path = Path(configuration.file)
        try:
            text = read_start(path, PLUGIN_BYTES)
            if text is not None and plugin_install.lists_plugin(text, path, manifest.plugin):
                listing.append(configuration.file)
            else:
                odd.append(warn(f"{configuration.file} does not list the plugin any more", _AGAIN))
        except ConfigError as error:
            odd.append(warn(error.message, "Fix it: OpenCode cannot read it either"))
    listing += [str(path) for path in _elsewhere(here, manifest) if str(path) not in listing]
    if not listing:
        why = "; ".join(finding.words for finding in odd) or "no configuration lists the plugin"
        return fail(f"installed, but OpenCode does not load it: {why}", _AGAIN)
    return gravest(odd, f"listed in {' and '.join(listing)}")


def _unchanged(here: CheckEnvironment) -> Diagnosis:
    """Whether the plugin's file is what this version would write."""
    manifest = _known(here)
    if isinstance(manifest, Diagnosis):
        return good("the plugin is not installed")
    text = read_start(Path(manifest.plugin), PLUGIN_BYTES)
    if text is None:
        return fail(f"the plugin {manifest.plugin} is gone", _AGAIN)
    baked_values = read_paths(text)
    if baked_values is None:
        return fail(f"{manifest.plugin} was edited: what was put into it cannot be read", _AGAIN)
    values, version = baked_values
    if version != hudkit.__version__:
        return warn(f"the plugin is of version {version}, this hudkit is {hudkit.__version__}", _AGAIN)
    if generate_plugin(values) != text:
        return warn(f"{manifest.plugin} is not as it was installed", _AGAIN)
    return good("as it was installed")


def _places(here: CheckEnvironment) -> Diagnosis:
    """Whether the interpreter, data, log and socket in the plugin are still right."""
    manifest = _known(here)
    baked_values = (
        None if isinstance(manifest, Diagnosis) else read_paths(read_start(Path(manifest.plugin), PLUGIN_BYTES) or "")
    )
    if baked_values is None:
        return good("nothing is installed that could be read")
    values, _ = baked_values
    odd: list[Diagnosis] = []
    try:
        user_environment.check_interpreter(values.python, None, here.env, DAEMON_NEEDS)
    except ConfigError as error:
        odd.append(fail(f"the plugin cannot start the daemon: {error.message}", f"{_AGAIN} ({error.hint})"))
    else:
        if Path(values.python).parent != Path(here.python).parent:
            problem = f"the plugin starts {values.python}, this hudkit runs in {here.python}"
            odd.append(warn(problem, f"Is that meant? If not: {_AGAIN}"))
    ours = {"data": here.data, "db": here.db, "socket": here.socket}
    for name, mine in ours.items():
        theirs = getattr(values, name)
        if mine is not None and theirs != str(mine):
            problem = f"the plugin uses {theirs} (its {name}), this environment says {mine}"
            odd.append(warn(problem, f"Unset what says so (HUDKIT_…, XDG_…), or {_AGAIN}"))
    return gravest(odd, f"its daemon runs in {values.python}")


_OF_SUMMARIES = ("experimental.session.compacting",)


def _hooks(here: CheckEnvironment) -> Diagnosis:
    """Whether OpenCode called each hook that the HUD needs, when the plugin ran last."""
    manifest = _known(here)
    baked_values = (
        None if isinstance(manifest, Diagnosis) else read_paths(read_start(Path(manifest.plugin), PLUGIN_BYTES) or "")
    )
    missing = missing_hooks(baked_values[0].socket, "opencode") if baked_values else ()
    if missing:
        lost = (
            "summaries are made without the HUD" if missing == _OF_SUMMARIES else "the HUD does not reach the agent"
        )
        problem = f"OpenCode does not call {', '.join(missing)}, so {lost}"
        return fail(problem, "Update hudkit; where there is nothing newer, say both versions in a bug report")
    return good("no hook is known to be missing")


def missing_hooks(socket: str, host: str) -> tuple[str, ...]:
    """Return the hooks that the plugin in a host has waited for in vain; its note is beside the daemon's socket."""
    try:
        noted = json.loads(read_start(Path(f"{socket}.{host}.hooks"), PLUGIN_BYTES) or "{}")
    except (ValueError, RecursionError):
        return ()
    names = noted.get("missing") if isinstance(noted, dict) else None
    return tuple(str(name)[:100] for name in names[:10]) if isinstance(names, list) else ()


OPENCODE_CHECKS = (
    CheckRow("opencode", _program, 15.0),
    CheckRow("opencode plugin", _plugin),
    CheckRow("plugin file", _unchanged),
    CheckRow("plugin's places", _places, 20.0),
    CheckRow("plugin's hooks", _hooks),
)
"""Those that start a program, OpenCode or the plugin's interpreter, get longer."""


def _known(here: CheckEnvironment) -> PluginManifest | Diagnosis:
    try:
        manifest = read_installed(here.install)
    except ConfigError as error:
        return fail(error.message, error.hint)
    if manifest is None and _is_elsewhere(here):
        return good("the plugin is not installed in OpenCode")
    return manifest or warn("the plugin is not installed in OpenCode", _AGAIN)


def _is_elsewhere(here: CheckEnvironment) -> bool:
    """Whether hudkit is installed in another host, and not in OpenCode."""
    names = {path.stem for path in here.install.manifest.parent.glob("*.json")}
    return "opencode" not in names and bool(names & {"claude-code", "codex", "mcp", "pi"})


def _elsewhere(here: CheckEnvironment, manifest: PluginManifest) -> list[Path]:
    """The configurations in force here that list the plugin, whatever the manifest says."""
    paths = []
    for project in (None, here.directory):
        for path in plugin_install.config_candidates(here.env, project):
            try:
                text = read_start(path, PLUGIN_BYTES)
                if text is not None and plugin_install.lists_plugin(text, path, manifest.plugin):
                    paths.append(path)
            except (ConfigError, OSError):
                continue  # what cannot be read lists nothing
    return paths


def _clients(here: CheckEnvironment) -> Diagnosis:
    """Whether each configuration still has the entry, and what it starts is there with what it needs."""
    try:
        servers = recorded_servers(here.data)
    except ConfigError as error:
        return fail(error.message, error.hint)
    odd = [finding for server in servers for finding in _problems_of(server, here)]
    names = sorted({CLIENTS[server.client].title for server in servers if server.client in CLIENTS})
    return gravest(odd, f"configured in {', '.join(names)}" if names else "configured in no client")


def _problems_of(server: InstalledServer, here: CheckEnvironment) -> Iterator[Diagnosis]:
    again = f"hudkit install mcp --client {server.client}"
    path = Path(server.touched.file)
    try:
        text = read_text(path)
        program = (
            None
            if text is None or server.client not in CLIENTS
            else entry_program(text, path, CLIENTS[server.client])
        )
    except ConfigError as error:
        yield warn(error.message, f"Fix it: {server.client} cannot read it either")
        return
    if program is None:
        hint = f"{again}, or hudkit uninstall mcp --client {server.client}"
        yield warn(f"{path} does not start hudkit any more", hint)
        return
    try:
        user_environment.check_interpreter(program, None, here.env, SERVER_NEEDS)
    except ConfigError as error:
        yield fail(f"{server.client} cannot start hudkit: {error.message}", f"{again} ({error.hint})")


MCP_CHECKS = (CheckRow("mcp clients", _clients, 20.0),)


# -- models' servers on this machine ---------------------------------------------------------------------------

_BASE = "Your HUD: a line that `hudkit doctor` asks for, in the place of the base."
_DELTA = "[hud 000000] note: a line that `hudkit doctor` asks for, in the place of what changed"
_TAIL = "Context: a line that `hudkit doctor` asks for, in the place of the tail"
_SECOND = "A line that `hudkit doctor` asks for, in a second system message."
_TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "Where."}}},
    },
}


class _ModelServer(msgspec.Struct, frozen=True):
    """A server on this machine that somebody's configuration names: who uses it, its key, its models.

    `models` has the window that the host is told of, by the name of the model; `None` where it is told none.
    """

    user: str
    base_url: str
    key: str = ""
    models: dict[str, int | None] = {}


def _model_servers(here: CheckEnvironment) -> Diagnosis:
    """Whether the HUD is in the prompt that each server makes of a request, and how large its window is."""
    servers = {(server.base_url, server.user): server for server in _configured_servers(here)}
    if not servers:
        return good("none on this machine is configured")
    windows = load(here.settings, here.project_settings).settings.windows
    findings = [_arrival(server, windows) for server in servers.values()]
    return gravest(findings, "; ".join(finding.words for finding in findings))


def _arrival(server: _ModelServer, windows: Mapping[str, int]) -> Diagnosis:
    asked = LocalServer(server.base_url, key=server.key)
    where = f"{asked.root} ({server.user})"
    try:
        prompt = asked.prompt(_probe(), [_TOOL])
    except RequestRejected as error:
        return fail(f"{where} refuses requests with the HUD and tools: {error.message}", _TEMPLATE_HINT)
    if prompt is None:
        return good(f"{where} cannot be asked now; llama.cpp's server can, while it runs")
    parts = {"base": _BASE, "changes": _DELTA, "tail": _TAIL}
    lost = [name for name, text in parts.items() if text not in prompt]
    if lost:
        return fail(f"{where} drops the HUD ({', '.join(lost)}): the model never sees it", _TEMPLATE_HINT)
    tokens = asked.window()
    window = f", window {tokens:,} tokens" if tokens else ""
    words = f"{where}: the whole HUD arrives{window}{_second_system_message(asked)}"
    for model, limit in server.models.items():
        counted = window_of(model, host=limit, by_model=windows)
        if tokens and counted.limit_tokens > tokens:
            problem = f"{words}; but {server.user} counts on {counted.limit_tokens:,} tokens for {model}"
            return warn(problem, f'Say so to {server.user}, or in the settings: [windows] "{model}" = {tokens}')
    return good(words)


_TEMPLATE_HINT = (
    "Give the server the model's own chat template (llama-server --jinja --chat-template-file FILE), or another model"
)


def _probe() -> list[dict[str, Any]]:
    """The messages of a request as hosts send them, with one line in the place of each layer."""
    call = {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": '{"place": "here"}'}}
    return [
        {"role": "system", "content": f"You are an agent.\n\n{_BASE}"},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "content": f"nothing\n{_DELTA}"},
        {"role": "assistant", "content": "There is nothing."},
        {"role": "user", "content": f"Go on.\n{_TAIL}"},
    ]


def _second_system_message(asked: LocalServer) -> str:
    """What becomes of one that a plugin sends beside ours, in words; nothing where it arrives."""
    head = [{"role": "system", "content": "You are an agent."}, {"role": "system", "content": _SECOND}]
    try:
        prompt = asked.prompt([*head, {"role": "user", "content": "Look."}])
    except RequestRejected:
        return "; it refuses a second system message, as a plugin beside ours may send one"
    dropped = prompt is not None and _SECOND not in prompt
    return "; it drops a second system message, as a plugin beside ours may send one" if dropped else ""


def _configured_servers(here: CheckEnvironment) -> Iterator[_ModelServer]:
    """The servers on this machine that the agent loop and OpenCode are configured for."""
    model = load(here.settings, here.project_settings).settings.session.model or "openai"
    family = re.split("[:-]", model)[0].upper()
    url = here.env.get(f"{family}_BASE_URL", "")
    if LocalServer(url).is_local:
        # its window is the server's own for the agent loop, which asks for it too
        yield _ModelServer("hudkit's own agent", url, here.env.get(f"{family}_API_KEY", ""))
    for path in opencode_configurations(here):
        try:
            text = read_start(path, PLUGIN_BYTES)
            config = parse_jsonc(text, str(path)).value if text and text.strip() else {}
        except ConfigError:
            continue  # another check says so
        providers = config.get("provider") if isinstance(config, dict) else None
        for name, value in providers.items() if isinstance(providers, dict) else ():
            with contextlib.suppress(msgspec.ValidationError):
                entry = msgspec.convert(value, _OpenCodeProvider)
                if LocalServer(entry.options.baseURL).is_local:
                    limits = {model: each.limit.context or None for model, each in entry.models.items()}
                    yield _ModelServer(f"OpenCode, {name}", entry.options.baseURL, entry.options.apiKey, limits)


class _OpenCodeOptions(msgspec.Struct, frozen=True):
    baseURL: str = ""
    apiKey: str = ""


class _OpenCodeLimit(msgspec.Struct, frozen=True):
    context: int = 0


class _OpenCodeModel(msgspec.Struct, frozen=True):
    limit: _OpenCodeLimit = _OpenCodeLimit()


class _OpenCodeProvider(msgspec.Struct, frozen=True):
    """What of a provider in OpenCode's configuration is read here."""

    options: _OpenCodeOptions = _OpenCodeOptions()
    models: dict[str, _OpenCodeModel] = {}


MODEL_CHECKS = (CheckRow("local model servers", _model_servers, 20.0),)
"""A server that is busy, or loading, takes its time."""


def opencode_configurations(here: CheckEnvironment) -> list[Path]:
    """Return the files of OpenCode's configuration that would be in force here, whether they exist or not."""
    named = [Path(here.env["OPENCODE_CONFIG"])] if here.env.get("OPENCODE_CONFIG") else []
    both = [
        *plugin_install.config_candidates(here.env, None),
        *named,
        *plugin_install.config_candidates(here.env, here.directory),
    ]
    return list(dict.fromkeys(both))


def read_start(path: Path, limit: int) -> str | None:
    """Read the first `limit` bytes of a file and return them as text.

    `None` where there is none, or something that is no file. Raises `ConfigError` where it cannot be read. What is
    not UTF-8 is replaced.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error})") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return file.read(limit).decode("utf-8", "replace")
