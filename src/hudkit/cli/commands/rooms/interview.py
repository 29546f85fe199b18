"""`hudkit rooms interview`: one agent is asked aside, and the world never knows."""

from __future__ import annotations

import argparse

from hudkit.cli.options import world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="whom to ask (number or name)")
    parser.add_argument("question", metavar="QUESTION", help="what to ask")
    parser.add_argument(
        "--at",
        metavar="MOMENT",
        help="as it was after this event, or at this time: 120, 10m (since the world began), 14:30, 2026-11-25T14:30",
    )
    parser.add_argument("--model", default="", metavar="NAME", help="ask another model with the agent's HUD")
    world_argument(parser)


COMMAND = CliCommand(
    'hudkit rooms interview Maren "Why did you say that?" --at 10m', _arguments, "hudkit.cli.rooms.interview:run"
)
