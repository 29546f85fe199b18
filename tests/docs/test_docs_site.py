"""The docs site (`make docs`): all pages are in its navigation, no link is broken, nothing comes from the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from hudkit import compose
from hudkit.context import caching

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
CONFIG = ROOT / "mkdocs.yml"
INPUTS = ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md", "LICENSE")
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that load something, and where they name it. (A `link` to this page's own address loads nothing.)"""


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Return how a strict build ended; the network answers nobody in it."""
    nowhere = "http://127.0.0.1:9"
    environment = {**os.environ, "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def pages_in(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from pages_in(below)
    elif isinstance(entry, list):
        for each in entry:
            yield from pages_in(each)


def test_every_page_is_in_the_navigation() -> None:
    # BaseLoader: the file names a function of MkDocs' own, which is not to be called here
    navigation = yaml.load(CONFIG.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)["nav"]
    assert [name for group in navigation for name in group] == ["Start", "Hosts", "Reference", "Internals"]
    named = list(pages_in(navigation))
    assert len(named) == len(set(named))
    assert {path.name for path in DOCS.glob("*.md")} <= set(named)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_page_and_the_schema_are_on_the_site(site: Path) -> None:
    for path in DOCS.rglob("*.md"):
        assert (site / path.relative_to(DOCS).with_suffix(".html")).exists(), path
    schema = "settings.schema.json"
    assert (site / schema).read_bytes() == (DOCS / schema).read_bytes()
    assert "A heads-up display for LLM agents" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_navigation_of_the_site_leads_to_every_page(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md"):
        assert f'href="{path.relative_to(DOCS).with_suffix(".html")}"' in home, path


@pytest.mark.slow
def test_links_out_of_the_docs_lead_to_pages_of_the_site(site: Path) -> None:
    page = (site / "architecture.html").read_text(encoding="utf-8")
    assert 'href="source/src/hudkit/api.py.html"' in page
    assert "class HudSession" in re.sub(r"<[^>]+>", "", (site / "source/src/hudkit/api.py.html").read_text("utf-8"))


@pytest.mark.slow
def test_the_api_page_has_every_public_name(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    listed = set(re.findall(r'id="([\w.]+)"', page))
    modules = {"jsx", "markdown", "toon"}  # there are modules of these names; the first has its function beside it
    wanted = {f"hudkit.compose.{name}" for name in compose.__all__ if name not in modules}
    wanted |= {f"hudkit.context.caching.{name}" for name in caching.__all__}
    wanted |= {"hudkit.context.count_tokens", "hudkit.api.Hud.open", "hudkit.api.HudSession.frame"}
    wanted |= {"hudkit.hosts.langchain.HudMiddleware", "hudkit.hosts.pydantic_ai.HudCapability"}
    wanted |= {"hudkit.hosts.claude_agent_sdk.HudHooks", "hudkit.hosts.openai_agents.HudRunner"}
    wanted |= {"hudkit.hosts.google_adk.HudAdkPlugin", "hudkit.compose.jsx.reader.jsx"}
    assert wanted - listed == set()
    assert "hudkit.compose.__getattr__" not in listed


@pytest.mark.slow
def test_a_page_loads_nothing_from_the_network(site: Path) -> None:
    found: list[tuple[str, str]] = []

    class Loads(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            values = dict(attributes)
            if tag in LOADED and values.get("rel") not in ("canonical", "next", "prev"):
                found.append((tag, values.get(LOADED[tag]) or ""))

    for page in site.rglob("*.html"):
        Loads().feed(page.read_text(encoding="utf-8"))
    assert ("script", "assets/javascripts/") in {(tag, target[:19]) for tag, target in found}
    assert not [target for _, target in found if re.match(r"(?:https?:)?//", target)]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.slow
def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    copy = tmp_path / "project"
    copy.mkdir()
    for name in INPUTS:
        shutil.copy(ROOT / name, copy / name)
    for name in ("docs", "src", "examples"):
        (copy / name).symlink_to(ROOT / name)
    (copy / "docs").unlink()
    shutil.copytree(DOCS, copy / "docs")
    page = copy / "docs" / "window.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[there is no such page](nowhere.md)\n", encoding="utf-8")
    done = build(copy, tmp_path / "site")
    assert done.returncode != 0 and "nowhere.md" in done.stdout + done.stderr
