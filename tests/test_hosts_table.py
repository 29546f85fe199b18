"""The table of hosts in docs/hosts.md: each cell, but for those of MCP, is a test of the conformance suite."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from hudkit.testing.host_conformance import HostConformance

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "hosts.md"

COLUMNS = {
    "in every call": (
        "test_every_call_carries_the_hud_once",
        "test_a_request_begins_with_the_one_before",
        "test_nothing_of_the_hud_is_kept_by_the_host",
    ),
    "costs, 42 / 120 calls": ("test_the_hud_costs_little",),
    "compacts": ("test_a_task_is_done_over_three_compactions_and_nothing_live_is_lost",),
    "over compactions": ("test_a_task_is_done_over_three_compactions_and_nothing_live_is_lost",),
    "usage": ("test_usage_and_window_are_those_of_the_host", "test_the_hud_gets_denser_as_the_window_fills"),
    "a new process": ("test_a_conversation_goes_on_in_a_new_process_as_if_nothing_had_been",),
    "sub-agents": ("test_a_sub_agent_has_a_hud_of_its_own",),
    "takes up a task of another host": ("test_a_session_of_another_host_is_resumed",),
}
"""What each column's cells rest on."""

HOSTS = {
    "OpenCode": ("hosts/opencode", "test_opencode_conforms", "TestOpenCode"),
    "Codex": ("hosts/codex", "test_codex_conforms", "TestCodex"),
    "Claude Code": ("hosts/claude_code", "test_claude_code_conforms", "TestClaudeCode"),
    "pi": ("hosts/pi", "test_pi_conforms", "TestPi"),
    "session loop": ("agent", "test_loop_conforms", "TestSession"),
    "LangChain": ("hosts/langchain", "test_langchain_conforms", "TestLangChain"),
    "pydantic-ai": ("hosts/pydantic_ai", "test_pydantic_ai_conforms", "TestPydanticAI"),
    "Google ADK": ("hosts/google_adk", "test_google_adk_conforms", "TestGoogleAdk"),
    "Claude Agent SDK": ("hosts/claude_agent_sdk", "test_claude_agent_sdk_conforms", "TestClaudeAgentSdk"),
    "OpenAI Agents": ("hosts/openai_agents", "test_openai_agents_conforms", "TestOpenAIAgents"),
    "gateway": ("hosts/gateway", "test_gateway_conforms", "TestOpenAIChat"),
}
ELSEWHERE = {
    ("OpenCode", "costs, 42 / 120 calls"): "hosts/opencode/test_hud_cost.py",
    ("Codex", "costs, 42 / 120 calls"): "hosts/codex/test_codex_cost.py",
    ("Codex", "sub-agents"): "hosts/codex/test_codex_sessions.py",
}
"""Cells whose test is not the suite's."""


def table() -> dict[str, dict[str, str]]:
    """The cells by host and column."""
    text = PAGE.read_text("utf-8")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    head, rows = lines[0], lines[2:]
    return {re.sub(r"\[(.+?)\].*", r"\1", row[0]): dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def suite(host: str) -> type[HostConformance]:
    folder, module, name = HOSTS[host]
    sys.path.insert(0, str(HERE / folder))
    return getattr(import_module(module), name)


def test_the_table_has_every_host_and_column() -> None:
    found = table()
    assert set(found) == {*HOSTS, "MCP"}
    assert all(list(cells) == list(COLUMNS) for cells in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_cell_rests_on_a_test(host: str, column: str) -> None:
    cell = table()[host][column]
    assert cell and not cell.startswith("no"), "what a host cannot do is said in its class, and here"
    driver = suite(host)
    if (host, column) in ELSEWHERE:
        assert (HERE / ELSEWHERE[host, column]).exists()
        return
    for name in COLUMNS[column]:
        assert name not in driver.cannot, "a test that is passed over holds up no cell"
        assert callable(getattr(driver, name)), name


@pytest.mark.parametrize("host", HOSTS)
def test_costs_are_within_what_is_asserted(host: str) -> None:
    short, long = re.fullmatch(r"× ([\d.]+) / ([\d.]+)", table()[host]["costs, 42 / 120 calls"]).groups()  # type: ignore[union-attr]
    assert 1 < float(long) <= 1.04 and 1 < float(short) <= 1.05
