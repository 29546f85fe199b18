"""`hudkit hook`: answer a hook of a host, which starts this command and waits for it."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Hosts start this command themselves, as `hudkit install` tells them: it reads the hook's JSON from standard input,
asks the daemon (and starts it where none runs), and prints what the host is to be told, or nothing. It never fails
and never waits long: a session's start has 2 seconds, a compaction 5, every other hook 0.2. With HUDKIT_DEBUG set it
says on the error stream what went wrong."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", choices=("claude-code", "codex"), help="the host that calls")


def _run(args: argparse.Namespace) -> int:
    from hudkit.daemon import hook_client

    return hook_client.main(args.host)


COMMAND = CliCommand(
    example="hudkit hook codex",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
    exit_codes="exit codes: 0 always, or 2 for a wrong command line",
)
