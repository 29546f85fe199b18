"""Run one part: `python -m bench.real_model PART`."""

from __future__ import annotations

import sys

from bench.real_model import PARTS

for name in sys.argv[1:] or PARTS:
    for figure in PARTS[name]():
        print(f"  {figure.ratio:8.2f}  {figure.name}{'' if figure.kept else '  MISSED'}  {figure.note}", flush=True)
