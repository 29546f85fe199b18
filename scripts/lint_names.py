"""Refuse names that a reader has to look up: vague locals, and classes that share their name.

    python scripts/lint_names.py [FOLDER]      (default: src/hudkit; exit code 1 where something is refused)

Ruff has no rule for either. A local called `one` or `found` says nothing of what it holds, and a class name that two
modules define makes every search and every import ambiguous.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

VAGUE = frozenset({"one", "found", "said", "told", "known", "given", "made", "kept", "it", "at"})
"""Names of variables and parameters that say nothing of what they hold."""

SHARED_CLASSES: frozenset[str] = frozenset()
"""Class names that two modules may share, each with its reason."""


def vague_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every variable and parameter of a module with a vague name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, node.arg


def findings(folder: Path) -> list[str]:
    """Return one line for each refused name in the modules of a folder, in the order of their paths."""
    lines: list[str] = []
    classes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines += [f"{path}:{line}: `{name}` does not say what it holds" for line, name in vague_names(tree)]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in SHARED_CLASSES:
                classes[node.name].append(f"{path}:{node.lineno}")
    for name, places in sorted(classes.items()):
        modules = {place.rpartition(":")[0] for place in places}
        if len(modules) > 1:
            lines.append(f"{places[0]}: class {name} is also in {', '.join(places[1:])}")
    return lines


def main() -> int:
    """Print the findings of the folder that is named; return 1 where there are any."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "src/hudkit")
    lines = findings(folder)
    print("\n".join(lines) if lines else f"{folder}: every name says what it is")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
