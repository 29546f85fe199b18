"""`hudkit gateway`: what has a base URL, with the HUD in its calls."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import db_argument
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Start it before a client, and give the client its address as base URL: `ANTHROPIC_BASE_URL=http://127.0.0.1:8788`,
`OPENAI_BASE_URL=http://127.0.0.1:8788/v1`. Everything goes to the provider as it comes, and back. The calls of agents
(those that offer tools) get the HUD; [the gateway's page](gateway.md) says where, and what is never touched.

`hudkit gateway off` is the kill switch: from then on all gateways only relay, those that run too; `on` takes it back.
`hudkit gateway receipts` compares what calls cost with the HUD and without, by the provider's own figures."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("serve", "off", "on", "receipts"),
        default="serve",
        help="what to do (default: serve)",
    )
    parser.add_argument("--upstream", metavar="URL", help="the provider: scheme, host and, where it has one, path")
    parser.add_argument("--port", type=int, default=8788, metavar="N", help="listen here (default: 8788; 0: any)")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="listen at this address (default: 127.0.0.1)"
    )
    parser.add_argument("--project", type=Path, metavar="DIR", help="where agents work (default: this directory)")
    parser.add_argument("--no-hud", dest="hud", action="store_false", help="only relay, and take receipts")
    parser.add_argument(
        "--half",
        action="store_true",
        help="give the HUD to every second conversation only, so that receipts compare",
    )
    db_argument(parser)
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


COMMAND = CliCommand(
    example="hudkit gateway --upstream https://api.anthropic.com",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.gateway:run",
)
