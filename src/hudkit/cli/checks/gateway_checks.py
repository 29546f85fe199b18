"""Checks of the gateways that use this log: whether they listen, whether the provider can be reached, the switch."""

from __future__ import annotations

import os
import shlex
import socket
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.hosts.gateway.conversations import ConversationBook, ReceiptRow, RunningGateway
from hudkit.paths import gateway_path, gateway_switch

_SECONDS = 3.0


def _gateway(here: CheckEnvironment) -> Diagnosis:
    file = gateway_path(here.db)
    off = gateway_switch().exists()
    if not file.exists():
        return _switched_off() if off else good("none has run with this log")
    try:
        with closing(ConversationBook(file)) as book:
            rows, listening = book.receipts(), [each for each in book.gateways() if _lives(each.process)]
    except sqlite3.Error as error:
        return warn(f"{file} cannot be read ({error})", "Stop the gateways, and move that file away")
    findings = [finding for each in listening for finding in _look_at(each)]
    findings += [_switched_off()] if off else []
    running = "; ".join(f"{each.url} goes to {each.upstream}" for each in listening) or "none runs"
    return gravest(findings, "; ".join(filter(None, (running, _cost(rows)))))


def _switched_off() -> Diagnosis:
    return warn("the HUD of gateways is off", "hudkit gateway on")


def _look_at(gateway: RunningGateway) -> list[Diagnosis]:
    """What is wrong with a gateway whose process lives."""
    if not _connects(gateway.url):
        return [fail(f"{gateway.url} does not answer", f"hudkit gateway --upstream {shlex.quote(gateway.upstream)}")]
    if not _connects(gateway.upstream):
        return [fail(f"{gateway.url} goes to {gateway.upstream}, which cannot be reached", "Look at --upstream")]
    return [] if gateway.hud else [warn(f"{gateway.url} was started without a HUD", "Start it without --no-hud")]


def _connects(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname if parts.hostname != "0.0.0.0" else "127.0.0.1"
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError:
        return False
    return True


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _cost(rows: list[ReceiptRow]) -> str:
    """What the calls with the HUD cost ÷ without it, by the providers' own figures."""
    ours = [row for row in rows if row.hud]
    calls, paid = sum(row.reported for row in ours), sum(row.paid for row in ours)
    own = sum(row.own for row in ours)
    return f"{calls} calls with the HUD cost × {paid / (paid - own):.3f}" if paid > own else ""


GATEWAY_CHECKS: tuple[CheckRow, ...] = (CheckRow("gateway", _gateway),)
"""The check of gateways; where none was ever started, nothing is amiss."""
