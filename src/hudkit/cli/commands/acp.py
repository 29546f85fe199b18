"""`hudkit acp`: hudkit's own agent in an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import argparse

from hudkit.cli.options import session_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Editors start `hudkit acp` themselves and talk to it over its standard input and output, in the Agent Client Protocol
(<https://agentclientprotocol.com>). See [terminal.md](terminal.md#in-an-editor)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    session_arguments(parser, picks=False)


def _run(args: argparse.Namespace) -> int:
    import asyncio
    import logging

    from hudkit.agent.terminal.acp_agent import serve_acp
    from hudkit.agent.terminal.permission_prompt import AllowAll
    from hudkit.agent.terminal.session_runner import DataLocation
    from hudkit.cli.common import user_settings
    from hudkit.cli.session import session_request

    # standard output has messages of the protocol, and nothing else
    logging.basicConfig(level=logging.WARNING)
    location = DataLocation(args.data, user_settings("acp"))
    asyncio.run(serve_acp(session_request(args), location, AllowAll() if args.yes else None))
    return 0


COMMAND = CliCommand(
    example="hudkit acp --model anthropic:claude-sonnet-4-6",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
    extra="acp",
)
