"""Hooks of the docs site (`mkdocs.yml`): they take in what the pages link to outside of docs/.

The pages are written for a forge, where a link can lead to any file. On the site README.md is the start page, the
other documents of the root are pages beside it, and a source file that a page links to is a page below `source/`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
_ROOT_DOCUMENTS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md")
_LINK = re.compile(r"(?P<text>\[(?:[^\]\[]|\[[^\]]*\])*\])\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[\w-]*)[^\n]*\n.*?^(?P=fence)$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Return the configuration with the pages of docs/decisions/ in the navigation's last group."""
    pages = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    (internals,) = config.nav[-1].values()
    internals.append({"Decisions": [f"decisions/{name}" for name in pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Return the files of docs/ with the documents of the root, and with the source files that pages link to."""
    documents = {"index.md": "README.md", **{name: name for name in _ROOT_DOCUMENTS}}
    for place, name in documents.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    for page in files.documentation_pages():
        for name in _linked_sources(_written_as(page.src_uri), page.content_string):
            if files.get_file_from_path(_site_place(name)) is None:
                code = (ROOT / name).read_text(encoding="utf-8").rstrip("\n")
                language = Path(name).suffix.removeprefix(".")
                content = f"---\nsearch: {{exclude: true}}\n---\n# {name}\n\n`````{language}\n{code}\n`````\n"
                files.append(File.generated(config, _site_place(name), content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with its links as they are on the site."""
    place = page.file.src_uri
    if place.startswith("source/"):
        return markdown

    def link(match: re.Match[str]) -> str:
        name = _linked_name(_written_as(place), match["target"])
        if name is None or not (ROOT / name).exists():
            return match[0]
        if (ROOT / name).is_dir():  # a forge shows its files; the site has no page of it
            return match["text"][1:-1]
        target = os.path.relpath(_site_place(name), Path(place).parent)
        return f"{match['text']}({target}{match['anchor'] or ''})"

    return _outside_fences(markdown, lambda text: _LINK.sub(link, text))


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    """Return a text changed outside of its code blocks; of these only the language stays in the first line."""
    pieces, end = [], 0
    for fence in _FENCE.finditer(markdown):
        lines = fence[0].split("\n", 1)[1]
        pieces += [change(markdown[end : fence.start()]), f"{fence['fence']}{fence['language']}\n{lines}"]
        end = fence.end()
    return "".join([*pieces, change(markdown[end:])])


def _linked_sources(name: str, markdown: str) -> set[str]:
    """Return the files that are not documents and that a document links to, by their names from the root."""
    linked = (_linked_name(name, match["target"]) for match in _LINK.finditer(_FENCE.sub("", markdown)))
    inside = {target for target in linked if target is not None and (ROOT / target).is_file()}
    return {target for target in inside if _site_place(target).startswith("source/")}


def _linked_name(name: str, target: str) -> str | None:
    """Return the file, from the root, that a link of a document leads to; `None` for an address."""
    if re.match(r"[a-z]+:", target):
        return None
    return os.path.normpath(Path(name).parent / target)


def _written_as(place: str) -> str:
    """Return the file, from the root, that a page of the site is made from."""
    if place == "index.md":
        return "README.md"
    return place if place in _ROOT_DOCUMENTS else f"docs/{place}"


def _site_place(name: str) -> str:
    """Return the place on the site of a file, named from the root."""
    if name == "README.md":
        return "index.md"
    if name in _ROOT_DOCUMENTS:
        return name
    return name.removeprefix("docs/") if name.startswith("docs/") else f"source/{name}.md"
