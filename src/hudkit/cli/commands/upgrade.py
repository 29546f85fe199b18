"""`hudkit upgrade`: the command that brings the newest version, for the installer in use."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Prints the command and changes nothing: what installed hudkit renews it (`uv tool`, pipx, `uvx`, pip, in a checkout
git and pip). A daemon that runs is replaced by the next host that starts one."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


def _run(args: argparse.Namespace) -> int:
    from hudkit import __version__
    from hudkit.cli.common import SCHEMA, as_json
    from hudkit.installation import read_installation

    installation = read_installation()
    command = installation.upgrade()
    if args.json:
        facts = {"schema": SCHEMA, "version": __version__, "installer": installation.installer, "command": command}
        print(as_json(facts))
    else:
        print(command)
    return 0


COMMAND = CliCommand("hudkit upgrade", _arguments, _run, details=_DETAILS)
