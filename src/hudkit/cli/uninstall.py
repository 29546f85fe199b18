"""`hudkit uninstall`: take the HUD out of an agent's host again, and with `--purge` what it recorded."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress

from hudkit.cli import CliCommand
from hudkit.cli.install import chosen, host_arguments, spot, tell
from hudkit.daemon import client
from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import InstallStep, made_directory, remove_empty, remove_file
from hudkit.hosts.mcp import client_install as mcp
from hudkit.hosts.opencode import plugin_install as opencode
from hudkit.hosts.opencode.plugin_install import PluginTarget
from hudkit.paths import own_files

_DETAILS = """\
`--purge` deletes what SECURITY.md lists: log, search index, exports, transcripts and requests of our own agent,
worlds, backups, tokens. The settings and custom sections that you wrote stay.

`hudkit uninstall mcp` removes the server from every client that it was installed in; with --client from that one
only, even if it was added there by hand."""

STOP_SECONDS = 5.0


def _arguments(parser: argparse.ArgumentParser) -> None:
    host_arguments(parser)
    parser.add_argument(
        "--purge", action="store_true", help="also delete every file that hudkit made: log, sessions, worlds, backups"
    )


def _run(args: argparse.Namespace) -> int:
    here = chosen(args)
    if args.host == "mcp":
        steps = mcp.uninstall(spot(args), args.client or "", dry_run=args.dry_run)
    else:
        steps = opencode.uninstall(here, dry_run=args.dry_run)
    still = not args.dry_run and bool(opencode.read_installed(here) or mcp.installed_servers(spot(args)))
    if args.purge and still:
        raise ConfigError(
            "the log is still in use: hudkit is also installed elsewhere", hint="Uninstall it there first"
        )
    if not args.dry_run and not still:
        _stop(here)
    if args.purge:
        steps += tuple(_purged(here, args.dry_run))
    tell(args, steps, "uninstalled" if steps else "not installed here")
    return 0


COMMAND = CliCommand(
    example="hudkit uninstall opencode",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _stop(here: PluginTarget) -> None:
    """End the daemon, and wait until it and its index process have gone, but not for long."""
    until = time.monotonic() + STOP_SECONDS
    if client.stop(here.socket):
        while not client.is_gone(here.socket) and time.monotonic() < until:
            time.sleep(0.02)


def _purged(here: PluginTarget, dry_run: bool) -> Iterator[InstallStep]:
    uppermost = made_directory(here.data)
    own = [path for _, path in own_files(here.data, here.db)]
    # The socket may lie elsewhere: among the files of the user's login, or where `HUDKIT_SOCKET` says.
    own += [here.socket, here.socket.with_name(here.socket.name + ".lock")]
    for path in dict.fromkeys(own):
        if path.exists() or path.is_symlink():
            yield InstallStep(str(path), "remove")
            if not dry_run:
                remove_file(path, upto=here.data if path.is_relative_to(here.data) else path.parent)
    if not dry_run:
        # Directories that held nothing but what is gone, or nothing from the start.
        for name in (
            "exports",
            "frames",
            "sessions.db.claims",
            "outputs",
            "worlds",
            "plugins/opencode",
            "plugins",
            "install",
            "run",
            ".",
        ):
            with suppress(OSError):
                (here.data / name).rmdir()
        remove_empty(here.data, upto=uppermost)
