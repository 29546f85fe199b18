"""`hudkit gateway`: relays calls to a provider with the HUD in them, turns the HUD off and on, prints receipts."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sqlite3
from pathlib import Path
from typing import Any

from hudkit import paths
from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, log_to_stderr
from hudkit.errors import ConfigError
from hudkit.hosts.gateway.conversations import ConversationBook, ReceiptRow, RunningGateway
from hudkit.hosts.gateway.hud_calls import HOST, HudCalls
from hudkit.hosts.gateway.relay import UpstreamUrl, serve
from hudkit.hosts.in_process import InProcessHud

_LOG = logging.getLogger("hudkit.hosts.gateway")


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.action in ("on", "off"):
        return _switch(args.action == "on", as_facts=args.json)
    if args.action == "receipts":
        return _receipts(args)
    return _serve(args)


def _serve(args: argparse.Namespace) -> int:
    if not args.upstream:
        raise ConfigError(
            "the gateway needs to know the provider", hint="hudkit gateway --upstream https://api.anthropic.com"
        )
    upstream = UpstreamUrl.parse(args.upstream)
    if args.project is not None and not args.project.is_dir():
        raise ConfigError(
            f"--project {args.project} is not a directory", hint="Name the directory that agents work in"
        )
    log_to_stderr()
    log = _log_path(args)
    attached = InProcessHud(log, host=HOST, project=args.project) if args.hud else None
    book = _open_book(log, half=args.half)
    calls = HudCalls(attached, book, switch=_is_on)
    listening: list[RunningGateway] = []

    def say(port: int) -> None:
        where = f"http://{args.host}:{port}"
        listening.append(RunningGateway(where, args.upstream, os.getpid(), args.hud))
        book.note_listening(listening[0])
        if args.json:
            # One line: who starts it reads a line, and it goes on.
            facts = {"schema": SCHEMA, "url": where, "upstream": args.upstream, "hud": args.hud}
            print(json.dumps(facts), flush=True)
            return
        print(f"{where} goes to {args.upstream}{'' if args.hud else ', without a HUD'}", flush=True)
        print(f"  ANTHROPIC_BASE_URL={where}  or  OPENAI_BASE_URL={where}/v1", flush=True)
        if not _is_on():
            print("  the HUD is off: `hudkit gateway on` turns it on", flush=True)

    calls.warm_up()
    try:
        serve(upstream, calls, host=args.host, port=args.port, listening=say)
    except KeyboardInterrupt:
        pass
    finally:
        for own in listening:
            book.note_stopped(own)
        calls.close()
        book.close()
        if attached is not None:
            attached.close()
    return 0


def _open_book(log: Path, *, half: bool) -> ConversationBook:
    try:
        return ConversationBook(paths.gateway_path(log), half=half)
    except (sqlite3.Error, OSError) as error:
        _LOG.warning("conversations are known to this process only: %s", error)
        return ConversationBook(None, half=half)


def _log_path(args: argparse.Namespace) -> Path:
    return Path(args.db) if args.db is not None else paths.log_path()


def _is_on() -> bool:
    return not paths.gateway_switch().exists()


def _switch(on: bool, *, as_facts: bool) -> int:
    file = paths.gateway_switch()
    if on:
        file.unlink(missing_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(0o600)
    words = "on again" if on else "off: all gateways only relay, from the next call on"
    print(as_json({"schema": SCHEMA, "hud": on}) if as_facts else f"the HUD of gateways is {words}")
    return 0


def _receipts(args: argparse.Namespace) -> int:
    file = paths.gateway_path(_log_path(args))
    rows: list[ReceiptRow] = []
    if file.exists():
        book = ConversationBook(file)
        rows = book.receipts()
        book.close()
    elif not args.json:
        complain("gateway", f"no gateway has run with this log: {file} is not there")
        return 1
    arms = {name: _arm([row for row in rows if row.hud == hud]) for name, hud in (("with", True), ("without", False))}
    if args.json:
        print(as_json({"schema": SCHEMA, "sessions": [_facts(row) for row in rows], **arms}))
        return 0
    if not rows:
        print("no call has gone through a gateway with this log yet")
        return 0
    for row in rows:
        times = f"x {row.times:.3f}" if row.hud and row.times else "-"
        spent = row.cost
        print(
            f"{row.session}  {row.calls:4} calls  {spent.read:>10,} cached {spent.written:>9,} written"
            f" {spent.fresh:>9,} fresh {spent.output:>8,} answered  {times if row.hud else 'without the HUD'}"
        )
    for name, arm in arms.items():
        if arm["calls"]:
            print(f"{name} the HUD: {arm['calls']} calls, a call weighs {arm['weight_per_call']:,.0f} tokens")
    print(
        "x is cost with the HUD ÷ cost without it, of requests; the figures are the provider's, the HUD's part ours"
    )
    return 0


def _facts(row: ReceiptRow) -> dict[str, Any]:
    spent = row.cost
    return {
        "session": row.session,
        "hud": row.hud,
        "calls": row.calls,
        "reported": row.reported,
        "cached": spent.read,
        "written": spent.written,
        "fresh": spent.fresh,
        "output": spent.output,
        "weight": round(row.paid, 1),
        "hud_weight": round(row.own, 1),
        "times": None if row.times is None else round(row.times, 4),
    }


def _arm(rows: list[ReceiptRow]) -> dict[str, Any]:
    reported = sum(row.reported for row in rows)
    paid = sum(row.paid for row in rows)
    return {
        "sessions": len(rows),
        "calls": reported,
        "weight_per_call": round(paid / reported, 1) if reported else None,
    }
