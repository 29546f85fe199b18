"""Makes docs/inspector-live.png, the inspector beside a real OpenCode at work:
`python docs/make_inspector_live_picture.py` (needs OpenCode and Chromium)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from shutil import which

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "hosts" / "opencode")]

from inspected_tour import inspected_tour  # noqa: E402
from opencode_host import OpenCode  # noqa: E402
from opencode_tour import FILES, LIMIT  # noqa: E402

from hudkit.testing.model_server import ScriptedModel  # noqa: E402

PICTURE = ROOT / "docs" / "inspector-live.png"


def main() -> None:
    """Walk the tour, and make the picture of the call that the inspector followed it to."""
    program = which("chromium") or which("google-chrome")
    with (
        tempfile.TemporaryDirectory(prefix="hk") as place,
        ScriptedModel() as model,
        OpenCode(Path(place), model.url, shape="anthropic", limit=LIMIT, files=FILES, project="slugs") as host,
        sync_playwright() as playwright,
    ):
        host.env["HUDKIT_DATA"] = str(host.place / "data" / "hudkit")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        with inspected_tour(host, model, context.new_page, "--anyway") as page:
            page.wait_for_function("document.querySelector('#main').textContent.includes('1 compaction')")
            page.screenshot(path=PICTURE)
        browser.close()
    print(f"wrote {PICTURE.name}")


if __name__ == "__main__":
    main()
