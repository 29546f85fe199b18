"""`hudkit uninstall`: take the HUD out of an agent's host again, and with `--purge` what it recorded."""

from __future__ import annotations

import argparse
import glob
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hudkit.cli.install import chosen, claude_target, codex_target, pi_target, require_host, spot, tell
from hudkit.config import new_settings_file
from hudkit.daemon import client
from hudkit.errors import ConfigError
from hudkit.hosts.claude_code import plugin_install as claude_code
from hudkit.hosts.codex import codex_install as codex
from hudkit.hosts.installing import agents_md
from hudkit.hosts.installing.config_files import (
    InstallStep,
    made_directory,
    made_settings_directory,
    remove_empty,
    remove_file,
)
from hudkit.hosts.mcp import client_install as mcp
from hudkit.hosts.opencode import plugin_install as opencode
from hudkit.hosts.opencode.plugin_install import PluginTarget
from hudkit.hosts.pi import extension_install as pi
from hudkit.paths import own_files, own_folders, user_config

STOP_SECONDS = 5.0


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    here = chosen(args)
    block = agents_md.uninstall(Path.cwd(), here.data, dry_run=args.dry_run) if args.agents_md else ()
    if args.host is None and args.agents_md and not args.purge:
        tell(args, block, "no longer described in AGENTS.md" if block else "not described in AGENTS.md here")
        return 0
    steps: tuple[InstallStep, ...] = ()
    if args.host is None and args.purge:
        pass  # who uses hudkit from a program, or its own agent, has it in no host
    elif args.host == "mcp":
        steps = mcp.uninstall(spot(args), args.client or "", dry_run=args.dry_run)
    elif args.host == "claude-code":
        steps = claude_code.uninstall(claude_target(args), dry_run=args.dry_run)
    elif args.host == "codex":
        steps = codex.uninstall(codex_target(args), dry_run=args.dry_run)
    elif args.host == "pi":
        steps = pi.uninstall(pi_target(args), dry_run=args.dry_run)
    else:
        require_host(args)
        steps = opencode.uninstall(here, dry_run=args.dry_run)
    still = (not args.dry_run or args.host is None) and _is_in_a_host(args, here)
    if args.purge and still:
        raise ConfigError(
            "the log is still in use: hudkit is also installed elsewhere", hint="Uninstall it there first"
        )
    if not args.dry_run and not still:
        _stop(here)
        # Tools that are in no host any more are not to be called.
        block += agents_md.uninstall(None, here.data)
    steps = block + steps
    if args.purge:
        steps += tuple(_purged(here, args.dry_run))
    tell(args, steps, "uninstalled" if any(step.what != "keep" for step in steps) else "not installed here")
    return 0


def _is_in_a_host(args: argparse.Namespace, here: PluginTarget) -> bool:
    in_codex = codex.CodexTarget(here.python, here.prefix, here.data, here.socket, here.env).manifest.exists()
    in_claude_code = claude_code.read_installed(claude_target(args)) is not None
    in_pi = pi.PiTarget(here.python, here.prefix, here.data, here.db, here.socket, here.env).manifest.exists()
    return (
        in_codex
        or in_claude_code
        or in_pi
        or bool(opencode.read_installed(here) or mcp.installed_servers(spot(args)))
    )


def _stop(here: PluginTarget) -> None:
    """End the daemon, and wait until it and its index process have gone, but not for long."""
    until = time.monotonic() + STOP_SECONDS
    if client.stop(here.socket):
        while not client.is_gone(here.socket) and time.monotonic() < until:
            time.sleep(0.02)


def _purged(here: PluginTarget, dry_run: bool) -> Iterator[InstallStep]:
    uppermost = made_directory(here.data)
    settings_made = made_settings_directory(here.data, user_config().parent)  # the record of it goes, too
    yield from _purged_settings(here, dry_run)
    own = [path for _, path in own_files(here.data, here.db)]
    # The socket may lie elsewhere: among the files of the user's login, or where `HUDKIT_SOCKET` says.
    own += sorted(here.socket.parent.glob(glob.escape(here.socket.name) + "*"))
    for path in dict.fromkeys(own):
        if path.exists() or path.is_symlink():
            yield InstallStep(str(path), "remove")
            if not dry_run:
                is_beside_settings = path.parent == user_config().parent
                elsewhere = settings_made if is_beside_settings else path.parent
                remove_file(path, upto=here.data if path.is_relative_to(here.data) else elsewhere)
    if not dry_run:
        # Directories that held nothing but what is gone, or nothing from the start.
        for name in (*own_folders(), "."):
            with suppress(OSError):
                (here.data / name).rmdir()
        remove_empty(here.data, upto=uppermost)


def _purged_settings(here: PluginTarget, dry_run: bool) -> Iterator[InstallStep]:
    """Remove the settings file where it is as `hudkit config init` writes it: any other is the user's."""
    path = user_config()
    if not path.is_symlink() and not path.is_file():
        return
    if path.is_symlink() or path.read_bytes() != new_settings_file().encode():
        yield InstallStep(str(path), "keep", hint="It is yours: it is not as `hudkit config init` writes it")
        return
    yield InstallStep(str(path), "remove")
    if not dry_run:
        remove_file(path, upto=made_settings_directory(here.data, path.parent))
