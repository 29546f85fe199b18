"""The door: `python -m hudkit` and the `hudkit` command."""

from __future__ import annotations

import sys


def main() -> int:
    from hudkit import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
