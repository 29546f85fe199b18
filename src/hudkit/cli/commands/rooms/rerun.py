"""`hudkit rooms rerun`: a world's recorded answers, played again with something changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import whole_number, world_argument
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
`--alter` takes `AGENT.KEY=VALUE`; the keys are `name`, `background`, `model`, `input_format`, `temperature`, `effort`
and `max_output`. See [experiments.md](experiments.md#the-same-answers-one-thing-changed)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NEW", help="the new world's name or file")
    parser.add_argument(
        "--alter", action="append", default=[], metavar="CHANGE", help="Maren.background='You keep bees.'; repeatable"
    )
    parser.add_argument(
        "--say", nargs=2, action="append", default=[], metavar=("ROOM", "TEXT"), help="say something; repeatable"
    )
    parser.add_argument("--prompts", type=Path, metavar="DIR", help="a folder of prompts to use instead")
    parser.add_argument(
        "--after", type=whole_number, metavar="SEQ", help="make the change behind this event (default: the founding)"
    )
    parser.add_argument("--stop", action="store_true", help="only say where the worlds part; ask no model")
    parser.add_argument(
        "--beats",
        type=whole_number,
        metavar="N",
        help="beats behind the parting (default: as many as the record)",
    )
    world_argument(parser)


COMMAND = CliCommand(
    'hudkit rooms rerun bees --alter "Maren.background=You keep bees." --stop',
    _arguments,
    "hudkit.cli.rooms.rerun:run",
    details=_DETAILS,
)
