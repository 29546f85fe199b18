"""The inspector beside the real OpenCode: it follows the agent at work, and its picture is of that work."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from inspected_tour import inspected_tour
from opencode_host import Hosts
from opencode_tour import FILES, LIMIT

from chromium_browser import FLAGS, chromium
from hudkit.hosts.installing.user_environment import ephemeral_reason
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def test_the_inspector_follows_an_agent_through_a_compaction(opencode: Hosts, model: ScriptedModel) -> None:
    host = opencode(own=True, shape="anthropic", limit=LIMIT, files=FILES)
    host.env["HUDKIT_DATA"] = str(host.place / "data" / "hudkit")
    anyway = ("--anyway",) if ephemeral_reason(Path(sys.prefix), os.environ) else ()
    with chromium(*FLAGS) as browser, inspected_tour(host, model, browser.new_page, *anyway) as page:
        page.wait_for_function("document.querySelector('#main').textContent.includes('1 compaction')")
        words = " ".join(page.inner_text("main").split())
        call, calls = map(int, re.findall(r"^Call (\d+) of (\d+)", words)[0])
        assert call == calls and "following the newest call" in words
        for kept in (
            "Make the test of slug() pass",
            "No new dependencies",
            "Split and join: a regex would drop dots",
        ):
            assert kept in words
        page.click("text=/Sessions/")
        page.locator("#sessions tbody th a").first.click()
        timeline = page.inner_text(".timeline")
        assert "Compaction 1" in timeline and "4 %" in timeline and "assumed" not in timeline
