"""`hudkit chat`: a conversation with an agent."""

from __future__ import annotations

import argparse

from hudkit.cli.options import session_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Enter sends, Alt-Enter begins a new line, Ctrl-C cancels, Ctrl-D leaves; `/help` lists commands. Without a terminal,
each line of standard input is a prompt or a command. See [terminal.md](terminal.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    session_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    import asyncio

    return asyncio.run(_chat(args))


COMMAND = CliCommand(
    example="hudkit chat --continue",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
    extra="session",
)


async def _chat(args: argparse.Namespace) -> int:
    import sys

    from hudkit.agent.terminal.chat import Chat
    from hudkit.agent.terminal.prompt_history import HistoryFile
    from hudkit.agent.terminal.prompt_source import EditedPrompts, PipedPrompts
    from hudkit.agent.terminal.screen import Screen, is_terminal
    from hudkit.cli.session import sitting_of

    edited = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    sitting = sitting_of(args, "chat")
    screen = sitting.screen or Screen(sys.stdout)
    line = EditedPrompts(screen, HistoryFile(sitting.location.data)) if edited else PipedPrompts()
    try:
        sitting.take_prompts_from(line)
        await sitting.open(sitting.location.pick(sitting.request))
        return await Chat(sitting, line, screen).run()
    finally:
        await sitting.close()
        line.close()
