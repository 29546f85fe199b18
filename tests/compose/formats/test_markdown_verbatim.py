"""Texts that keep their bytes: where spans stand, and that hostile texts are one line of one block."""

from __future__ import annotations

import pytest
from hostile import hostile
from markdown_it import MarkdownIt

from hudkit.compose import Element, visible
from hudkit.compose.formats.markdown import render
from hudkit.compose.formats.markdown.verbatim import verbatim

CASES = {
    # What needs no escape costs nothing.
    "Keep user_id and snake_case as they are": "Keep user_id and snake_case as they are",
    "def f(self, *args, **kwargs) -> None:": "def f(self, *args, **kwargs) -> None:",
    "*.py and *.js": "*.py and *.js",
    # Names in a sentence.
    "Never touch src/shop/__init__.py, it is generated": "Never touch `src/shop/__init__.py`, it is generated",
    "ask bob@example.com first": "ask `bob@example.com` first",
    "run `make ship` before __main__.py is read": "run `make ship` before `__main__.py` is read",
    # Commands and code in one piece.
    'grep -rn "__init__" src/**/*.py | wc -l': '`grep -rn "__init__" src/**/*.py | wc -l`',
    "cat __a__.md other.md": "`cat __a__.md other.md`",
    "List[T]<U>": "`List[T]<U>`",
    "return __version__ if __debug__ else None": "`return __version__ if __debug__ else None`",
    "echo `date` > __out__": "``echo `date` > __out__``",
    # Lines.
    "Deploy:\nmake build\n\nmake ship\n": "Deploy: ↵ make build ↵ make ship",
    "Run\n```bash\nmake a\n  make b\n```\nthen wait": "Run ↵ `make a` ↵ `  make b` ↵ then wait",
    # What would be structure is code.
    "# Task": "`# Task`",
    "- [x] done": "`- [x] done`",
    "**Important**: never push": "`**Important**`: never push",
}


@pytest.mark.parametrize("text", CASES)
def test_bytes_stay_and_spans_stand_where_escapes_would(text: str) -> None:
    assert render(Element("item", (), verbatim(text))) == f"- {CASES[text]}\n"


def test_beside_other_texts_what_could_pair_is_code() -> None:
    assert verbatim("*.py") == ("*.py",)
    for text in ("*.py", "[a](b", "<b", "x*"):
        assert verbatim(text, first=False, alone=False) == (Element("code", (), (text,)),)


@pytest.mark.slow
@pytest.mark.parametrize("lead", ["", "note: ", "a * _b ` [c "])
def test_a_hostile_text_is_one_line_of_one_item_with_all_its_words(lead: str) -> None:
    reader = MarkdownIt("gfm-like", {"linkify": False})
    for text in hostile(11, 500):
        if not visible(text).strip():
            continue
        nodes = verbatim(text, first=not lead, alone=not lead)
        written = render(Element("list", (), (Element("item", (), (lead, *nodes)), Element("item", (), ("end",)))))
        assert written.count("\n") == 2, (text, written)
        tokens = reader.parse(written)
        blocks = [token.type for token in tokens if token.nesting == 1]
        assert blocks == ["bullet_list_open", *["list_item_open", "paragraph_open"] * 2], (text, written)
