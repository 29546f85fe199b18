"""A process that backs up, restores or repairs a log over and over until it is killed; run by `test_recovery.py`.

usage: recovery_child.py OPERATION DATABASE BACKUP      (a line is printed before each round)
"""

from __future__ import annotations

import shutil
import sys
from itertools import count
from pathlib import Path

from hudkit.clock import uuid7
from hudkit.log.stores.recovery import back_up, repair, restore


def main() -> None:
    operation, path, backup = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    for number in count():
        print(number, flush=True)
        if operation == "backup":
            back_up(path, number, keep=3)
        elif operation == "restore":
            restore(path, backup, number)
        else:
            # Once repaired there is nothing to do: the damaged log is put back first, in one rename.
            damaged = path.with_name("again.db")
            shutil.copy(backup, damaged)
            if number:
                damaged.replace(path)
            repair(path, number, uuid7)
        for file in sorted(path.parent.glob(f"{path.name}.before-*"))[:-4]:
            file.unlink()


if __name__ == "__main__":
    main()
