"""Run parts: `python -m bench.real_model PART …`, or `finish FILE [N]`.

`finish FILE` prints the table of the rows that are in the file, without a model; with a number, the first N tasks are
put to the model before, and their rows are added to the file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.real_model import PARTS, finish
from bench.real_model.server import model_server
from bench.real_model.tasks import TASKS
from bench.real_model.weights import LARGE


def main(arguments: list[str]) -> None:
    """Print the figures of parts, or the table of a file."""
    if arguments[:1] == ["finish"] and len(arguments) > 1:
        file = Path(arguments[1])
        rows = finish.read_rows(file)
        if len(arguments) > 2:
            with model_server(LARGE) as server:
                rows = finish.measured(server, file, TASKS[: int(arguments[2])])
        print(finish.table(rows))
        return
    for name in arguments or PARTS:
        for figure in PARTS[name]():
            print(
                f"  {figure.ratio:8.2f}  {figure.name}{'' if figure.kept else '  MISSED'}  {figure.note}", flush=True
            )


main(sys.argv[1:])
