"""`hudkit completion`: a script with which a shell completes commands, operations, options, choices and files."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
The script is printed; let your shell read it once, when it starts:

| shell | line |
|---|---|
| bash | `eval "$(hudkit completion bash)"` in `~/.bashrc` |
| zsh | `eval "$(hudkit completion zsh)"` in `~/.zshrc`, behind `compinit` |
| fish | once: what `hudkit completion fish` prints, into `~/.config/fish/completions/hudkit.fish` |"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    import shtab

    from hudkit.cli.commands import whole_parser
    from hudkit.cli.parsing import operation_parsers

    parser = whole_parser()
    parsers = [parser]
    for inner in parsers:  # grows while it is read: a command may have operations
        parsers += operation_parsers(inner).values()
        for action in inner._actions:
            if action.type is Path or action.metavar == "FILE":
                kind = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
                action.complete = kind  # type: ignore[attr-defined]  # where shtab looks
    print(shtab.complete(parser, shell=args.shell))
    return 0


COMMAND = CliCommand("hudkit completion bash", _arguments, _run, details=_DETAILS)
