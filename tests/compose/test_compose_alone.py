"""`hudkit.compose` stands alone: what it imports, and what it offers at its door."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from hudkit import compose
from hudkit.compose import fit, fitting, formats, markdown, toon

ALLOWED = ("hudkit", "hudkit.errors", "hudkit.config", "hudkit.lazy")
FOREIGN = ("sqlite3", "_sqlite3", "tiktoken", "tokenizers", "asyncio", "anyio")
PROGRAM = """
import json, sys
{statement}
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(statement: str) -> list[str]:
    """Return the modules that a fresh process has after a statement."""
    program = PROGRAM.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    modules: list[str] = json.loads(done.stdout)
    return modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import hudkit.compose",
        "from hudkit.compose import fit, h; fit(h.document[h.text['a']], 9, lambda element: 1)",
        "import hudkit.compose.fitting",
        "from hudkit.compose import h, markdown; markdown.render(h.document[h.text['a']])",
    ],
)
def test_nothing_else_of_ours_and_no_store_and_no_tokenizer_is_imported(statement: str) -> None:
    modules = loaded_by(statement)
    ours = [name for name in modules if name.split(".")[0] == "hudkit"]
    assert [name for name in ours if name not in ALLOWED and not name.startswith("hudkit.compose")] == []
    assert [name for name in FOREIGN if name in modules] == []


@pytest.mark.slow
def test_making_trees_loads_neither_the_fit_nor_the_formats() -> None:
    modules = loaded_by("import hudkit.compose")
    later = ("hudkit.compose.fitting", "hudkit.compose.formats")
    assert [name for name in modules if name.startswith(later)] == []


def test_the_door_has_the_fit_and_two_formats() -> None:
    assert fit is fitting.fit
    assert markdown is formats.markdown and toon is formats.toon
    for name in compose.__all__:
        assert getattr(compose, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        compose.fitt


def test_the_example_of_the_package_runs() -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", compose.__doc__ or "", re.MULTILINE | re.DOTALL)
    assert len(examples) == 1
    exec(examples[0], {})
