"""`hudkit install`: put the HUD into an agent's host, with a manifest of every change."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit import paths
from hudkit.cli.commands.install import HOSTS
from hudkit.cli.common import SCHEMA, user_settings
from hudkit.cli.styles import DIFF_STYLES, on_terminal, print_lines
from hudkit.config import Settings
from hudkit.daemon import client, socket_path
from hudkit.errors import ConfigError
from hudkit.hosts.claude_code import plugin_install as claude_code
from hudkit.hosts.claude_code.plugin_install import ClaudeTarget
from hudkit.hosts.codex import codex_install as codex
from hudkit.hosts.installing import agents_md
from hudkit.hosts.installing.config_files import InstallStep
from hudkit.hosts.mcp import client_install as mcp
from hudkit.hosts.mcp.client_install import CLIENTS
from hudkit.hosts.opencode import plugin_install as opencode
from hudkit.hosts.opencode.plugin_install import PluginTarget
from hudkit.hosts.opencode.versions import installed_generations
from hudkit.hosts.pi import extension_install as pi


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.agents_md:
        block = agents_md.install(Path.cwd(), paths.data_directory(), dry_run=args.dry_run)
        if args.host is None:
            tell(args, block, "described in AGENTS.md")
            return 0
    else:
        block = ()
    require_host(args)
    if args.host == "codex":
        _install_codex(args, block)
        return 0
    if args.host == "mcp":
        if args.client == "codex" and codex.is_installed(codex_target(args)):
            there = InstallStep(str(codex_target(args).config), "keep", hint="`hudkit install codex` put more there")
            tell(args, (*block, there), "installed already, with its hooks")
            return 0
        if not args.client:
            raise ConfigError("no client is named", hint=f"Give --client with one of {', '.join(CLIENTS)}")
        if args.client == "claude-code" and claude_code.read_installed(claude_target(args)) is not None:
            hint = "hudkit uninstall claude-code first, where only the tools are wanted"
            raise ConfigError("the plugin in Claude Code brings the tools already", hint=hint)
        tell(args, block + mcp.install(spot(args), args.client, dry_run=args.dry_run), "installed")
        return 0
    if args.host == "claude-code":
        tell(args, block + _install_claude_code(args), "installed")
        return 0
    if args.host == "pi":
        target = pi_target(args)
        steps = pi.install(target, dry_run=args.dry_run)
        if not args.dry_run and any(step.what != "keep" for step in steps):
            client.stop(target.socket)  # it may be one that does not know pi; the extension starts its own
        tell(args, block + steps, "installed")
        return 0
    here = msgspec.structs.replace(chosen(args), generations=installed_generations(os.environ) or frozenset({1}))
    steps = block + opencode.install(here, dry_run=args.dry_run)
    if not args.dry_run and any(Path(step.path) == here.plugin and step.what == "change" for step in steps):
        client.stop(here.socket)  # it may be an older one; the plugin starts its own
    tell(args, steps, f"installed{_GENERATIONS[here.generations]}")
    if not (args.json or args.dry_run):
        print(_switches(user_settings("install")))
    return 0


def _install_codex(args: argparse.Namespace, block: tuple[InstallStep, ...]) -> None:
    target = codex_target(args)
    # The server that is there for the tools alone goes out first, so that taking ours out gives back what was before.
    alone = [server.client for server in mcp.installed_servers(spot(args)) if server.client == "codex"]
    before = mcp.uninstall(spot(args), "codex", dry_run=args.dry_run) if alone else ()
    steps = codex.install(target, compact_prompt=args.compact_prompt, dry_run=args.dry_run)
    tell(args, (*block, *before, *steps), "installed")
    untrusted = 0 if args.json or args.dry_run else codex.untrusted_hooks(target)
    if untrusted:
        print(
            f"It asks you to trust {untrusted} hooks of hudkit: say yes in /hooks. Until then it runs none of them."
        )
        print("The prompt of its compaction can leave out what the HUD keeps: hudkit install codex --compact-prompt.")


def _install_claude_code(args: argparse.Namespace) -> tuple[InstallStep, ...]:
    """Install the plugin, which brings the tools: the server that brought them before is taken out."""
    if args.project:
        raise ConfigError("the plugin is for all of the user's projects", hint="Leave --project out")
    here = claude_target(args)
    steps = claude_code.install(here, status_line=args.statusline, dry_run=args.dry_run)
    if any(server.client == "claude-code" for server in mcp.installed_servers(spot(args))):
        steps += mcp.uninstall(spot(args), "claude-code", dry_run=args.dry_run)
    if not args.dry_run and any(
        Path(step.path).is_relative_to(here.marketplace) and step.what == "change" for step in steps
    ):
        client.stop(here.socket)  # it may be an older one; the plugin starts its own
    return steps


_GENERATIONS: Mapping[frozenset[int], str] = {
    frozenset({1}): "",
    frozenset({2}): " for OpenCode 2 (tried on a stand-in only: docs/opencode.md)",
    frozenset({1, 2}): " for OpenCode 1 and 2 (2 was tried on a stand-in only: docs/opencode.md)",
}


def _switches(settings: Settings) -> str:
    """Return what is on beside the HUD itself, what is off, and how each is turned."""
    rows = (
        ("index of past transcripts", settings.memory.index, "[memory] index"),
        ("pruning of old tool outputs", settings.pruning.enabled, "[pruning] enabled"),
    )
    words = {True: ("on", "false turns it off"), False: ("off", "true turns it on")}
    lines = (f"{words[is_on][0]:>5}  {what:30}{key} = {words[is_on][1]}" for what, is_on, key in rows)
    return "\n".join(["Beside the HUD:", *lines, f"The file for that is {paths.user_config()}."])


def require_host(args: argparse.Namespace) -> None:
    """Raise `ConfigError` where no host is named."""
    if args.host is None:
        raise ConfigError("no host is named", hint=f"Name one of {', '.join(sorted(HOSTS))}, or give --agents-md")


def chosen(args: argparse.Namespace) -> PluginTarget:
    """Return where OpenCode, this environment and hudkit's data are, from a command's arguments."""
    return PluginTarget(
        python=sys.executable,
        prefix=None if getattr(args, "anyway", False) else Path(sys.prefix),
        data=paths.data_directory(),
        db=paths.log_path(),
        socket=socket_path.socket_path(),
        env=dict(os.environ),
        project=Path.cwd() if args.project else None,
    )


def claude_target(args: argparse.Namespace) -> ClaudeTarget:
    """Return the same as `chosen` for Claude Code."""
    here = chosen(args)
    return ClaudeTarget(here.python, here.prefix, here.data, here.db, here.socket, here.env)


def spot(args: argparse.Namespace) -> mcp.ServerTarget:
    """Return the same as `chosen` for a client of MCP."""
    here = chosen(args)
    return mcp.ServerTarget(here.python, here.prefix, here.data, here.env, sys.platform, here.project)


def codex_target(args: argparse.Namespace) -> codex.CodexTarget:
    """Return the same as `chosen` for Codex. Raises `ConfigError` for a project."""
    here = chosen(args)
    if here.project is not None:
        raise ConfigError("hudkit is in Codex for the user, not for a project", hint="Leave --project away")
    return codex.CodexTarget(here.python, here.prefix, here.data, here.socket, here.env)


def pi_target(args: argparse.Namespace) -> pi.PiTarget:
    """Return the same as `chosen` for pi. Raises `ConfigError` for a project."""
    here = chosen(args)
    if here.project is not None:
        raise ConfigError("hudkit is in pi for the user, not for a project", hint="Leave --project away")
    return pi.PiTarget(here.python, here.prefix, here.data, here.db, here.socket, here.env)


def tell(args: argparse.Namespace, steps: tuple[InstallStep, ...], done: str) -> None:
    """Print what happened, or with `--dry-run` what would."""
    if args.json:
        facts = {"schema": SCHEMA, "host": args.host, "dry_run": args.dry_run, "steps": steps}
        print(msgspec.json.format(msgspec.json.encode(facts), indent=2).decode())
        return
    for step in steps:
        words = {"create": "made", "change": "changed", "remove": "removed", "keep": "as it was"}[step.what]
        if not args.dry_run:
            print(f"{words:>10}  {step.path}")
        elif step.diff and not step.path.endswith(".js"):
            if on_terminal():
                print_lines(step.diff.rstrip("\n").split("\n"), DIFF_STYLES, long="keep")
            else:
                print(step.diff, end="")
        else:
            print(f"# {step.what} {step.path}")
        if step.hint:
            print(f"            {step.hint}")
    if not args.dry_run:
        print(f"hudkit is {done}. {HOSTS.get(args.host, '')}".rstrip())
