"""Makes docs/inspector-*.png from the recorded day: `python docs/make_inspector_pictures.py` (needs Chromium)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
WIDTH, HEIGHT = 1280, 860
CALL = 161
"""The call that is shown: one with a base, and with what changed since."""


def main() -> None:
    """Make the pictures."""
    program = which("chromium") or which("google-chrome")
    with _inspector() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        start = browser.new_page()
        start.goto(link)
        cookies = start.context.cookies()
        base = "{0.scheme}://{0.netloc}".format(urlsplit(link))
        start.click("text=Orchard planner")
        session = start.url.removeprefix(base)
        call = start.locator(f".timeline tbody th a:text-is('{CALL}')").get_attribute("href")
        start.goto(base + call)
        diff = start.locator("#diff-frame").get_attribute("href")
        receipt = session.replace("/session", "/compactions") + "&n=2"
        for name, path, scheme, width in (
            ("session", session, "light", WIDTH),
            ("call", call, "dark", WIDTH),
            ("changes", diff, "light", WIDTH),
            ("compaction", receipt, "light", WIDTH),
            ("phone", session, "dark", 360),
        ):
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            context.add_cookies(cookies)
            page: Any = context.new_page()
            page.goto(base + path)
            page.screenshot(path=DOCS / f"inspector-{name}.png")
            context.close()
        browser.close()


@contextmanager
def _inspector() -> Iterator[str]:
    """The one-time link of `hudkit inspect --demo`, for as long as it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hudkit", "inspect", "--demo"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield next(line.strip() for line in process.stdout if "?once=" in line)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
