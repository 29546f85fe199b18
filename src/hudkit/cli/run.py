"""`hudkit run`: one prompt to an agent, worked on until it is answered."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from hudkit.cli.common import SCHEMA
from hudkit.cli.session import sitting_of
from hudkit.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    schema = _schema(args.answer_schema)
    if args.json_input:
        if schema is not None and not args.prompt:
            hint = 'Give each prompt its own: {"type": "prompt", "text": "…", "answer_schema": {…}}'
            raise ConfigError("--answer-schema is for the prompt of the command line, and there is none", hint=hint)
        if "-" in args.prompt:
            raise ConfigError("the standard input has JSON lines", hint='Give prompts as {"type": "prompt", …}')
        return asyncio.run(_converse(args, " ".join(args.prompt), schema))
    prompt = _prompt(args.prompt)
    return asyncio.run(_answer(args, prompt, schema))


def _schema(path: Path | None) -> dict[str, object] | None:
    """Return the JSON Schema of a file. Raises `ConfigError`."""
    if path is None:
        return None
    try:
        schema = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no file with a JSON Schema: {error}", hint="Name a JSON file") from None
    if not isinstance(schema, dict):
        raise ConfigError(f"{path} holds no JSON Schema", hint='Such as {"type": "object"}')
    return schema


async def _answer(args: argparse.Namespace, prompt: str, schema: dict[str, object] | None) -> int:
    from hudkit.agent.terminal.turn_display import UserLeft
    from hudkit.agent.terminal.view import JsonView

    facts = JsonView(sys.stdout, SCHEMA) if args.json else None
    sitting = sitting_of(args, "run", facts=facts, quiet=args.quiet)
    try:
        await sitting.open(sitting.location.pick(sitting.request))
        ended = await sitting.display.prompt(prompt, answer_type=schema)
    except UserLeft:
        return 130
    finally:
        await sitting.close()
    return _exit_code(ended.reason)


async def _converse(args: argparse.Namespace, prompt: str, schema: dict[str, object] | None) -> int:
    """Answer what JSON lines on the standard input say, until their end."""
    from hudkit.agent.terminal.json_input import JsonPermissions, JsonSession
    from hudkit.agent.terminal.turn_display import UserLeft
    from hudkit.agent.terminal.view import JsonView

    view = JsonView(sys.stdout, SCHEMA)
    permissions = None if args.yes else JsonPermissions(view)
    sitting = sitting_of(args, "run", facts=view, ask=permissions, quiet=args.quiet)
    try:
        await sitting.open(sitting.location.pick(sitting.request))
        ended = await JsonSession(sitting, view, permissions).run(sys.stdin.fileno(), prompt, schema)
    except UserLeft:
        return 130
    finally:
        await sitting.close()
    return _exit_code(ended.reason) if ended is not None else 2


def _exit_code(reason: str) -> int:
    return {"done": 0, "cancelled": 130}.get(reason, 1)


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
