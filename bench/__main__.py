"""Run the benchmarks: `python -m bench [NAME …]`; each prints ratios to a baseline of the same run."""

from __future__ import annotations

import sys
from importlib import import_module

from bench.figures import Skipped

NAMES = (
    "start",
    "store",
    "postgres",
    "workers",
    "compose",
    "markdown",
    "daemon",
    "listeners",
    "plugin",
    "codex_hooks",
    "gateway",
    "claude_code",
    "session_loop",
    "trimming",
    "hosts",
    "rooms_formats",
    "rooms_pacing",
    "rooms_cache",
    "rooms",
    "rooms_large",
    "retention",
    "hearing",
    "recorder_fresh",
    "marks",
    "conformance_kit",
    "beam",
    "wrong_rules",
    "retrieval",
    "llama",
    "real_model",
    "composition",
    "search",
    "accounting",
    "pruning",
    "inspector",
    "histories",
)


def main(names: list[str]) -> int:
    """Exit code 1 where a figure is beyond its target."""
    good = True
    for name in names or NAMES:
        module = import_module(f"bench.{name}")
        print(f"\n{module.TITLE}")
        try:
            figures = module.run()
        except Skipped as reason:
            print(f"  skipped: {reason}")
            continue
        for figure in figures:
            target = "" if figure.most is None else f"  (target ≤ {figure.most:g}{'' if figure.kept else ', MISSED'})"
            print(f"  {figure.ratio:8.2f}  {figure.name}{target}{f'  {figure.note}' if figure.note else ''}")
            good = good and figure.kept
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
