"""`hudkit chat`: a conversation with an agent."""

from __future__ import annotations

import argparse
import asyncio
import sys

from hudkit.cli import CliCommand
from hudkit.cli.session import session_arguments, sitting_of

_DETAILS = """\
Enter sends, Alt-Enter begins a new line, Ctrl-C cancels, Ctrl-D leaves; `/help` lists commands. Without a terminal,
each line of standard input is a prompt or a command. See [terminal.md](terminal.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    session_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    return asyncio.run(_chat(args))


COMMAND = CliCommand(
    example="hudkit chat --continue",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
    extra="session,terminal",
)


async def _chat(args: argparse.Namespace) -> int:
    from hudkit.agent.terminal.chat import Chat
    from hudkit.agent.terminal.prompt_source import EditedPrompts, PipedPrompts
    from hudkit.agent.terminal.screen import Screen, is_terminal

    sitting = sitting_of(args, "chat")
    try:
        edited = is_terminal(sys.stdin) and is_terminal(sys.stdout)
        chat = Chat(sitting, EditedPrompts() if edited else PipedPrompts(), Screen(sys.stdout))
        await sitting.open(sitting.location.pick(sitting.request))
        return await chat.run()
    finally:
        await sitting.close()
