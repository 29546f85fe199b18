"""`hudkit run`: one prompt to an agent, worked on until it is answered."""

from __future__ import annotations

import argparse
import asyncio
import sys

from hudkit.cli.common import SCHEMA
from hudkit.cli.session import sitting_of
from hudkit.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    prompt = _prompt(args.prompt)
    return asyncio.run(_answer(args, prompt))


async def _answer(args: argparse.Namespace, prompt: str) -> int:
    from hudkit.agent.terminal.turn_display import UserLeft

    sitting = sitting_of(args, "run", facts=SCHEMA if args.json else 0, quiet=args.quiet)
    try:
        await sitting.open(sitting.location.pick(sitting.request))
        ended = await sitting.display.prompt(prompt)
    except UserLeft:
        return 130
    finally:
        await sitting.close()
    return {"done": 0, "cancelled": 130}.get(ended.reason, 1)


def _prompt(words: list[str]) -> str:
    """The words, and what is piped in where they have a `-` or there are none. Raises `ConfigError` for nothing."""
    argument = " ".join(word for word in words if word != "-")
    there = sys.stdin is not None and (not sys.stdin.isatty() or "-" in words)
    piped = _piped() if there and ("-" in words or not words) else ""
    text = "\n\n".join(part for part in (argument, piped.strip("\n")) if part.strip())
    if not text:
        raise ConfigError("there is no prompt", hint='Try: hudkit run "Make the failing test pass"')
    return text


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise ConfigError("the standard input is not UTF-8", hint="Give the prompt as UTF-8 text") from error
