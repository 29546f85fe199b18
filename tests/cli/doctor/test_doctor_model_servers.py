"""What doctor says of models' servers on this machine: is the HUD in their prompts, how large is their window."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doctor_home import Home, Look

from hudkit.cli.checks import Check, Verdict
from llama_server import NO_TOOLS, ONE_SYSTEM_MESSAGE, PLAIN, STRICT, TOOLS_OR_SYSTEM, llama_server

pytestmark = pytest.mark.slow

PASS, WARN, FAIL = Verdict
CHECK = "local model servers"


@pytest.fixture(autouse=True)
def no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def asked(look: Look, patch: pytest.MonkeyPatch, url: str) -> Check:
    patch.setenv("OPENAI_BASE_URL", url)
    return look(CHECK)[CHECK]


@pytest.mark.parametrize(
    ("template", "verdict", "words"),
    [
        (PLAIN, PASS, "the whole HUD arrives, window 8,192 tokens"),
        (ONE_SYSTEM_MESSAGE, PASS, "window 8,192 tokens; it drops a second system message"),
        (STRICT, PASS, "window 8,192 tokens; it refuses a second system message"),
        (TOOLS_OR_SYSTEM, FAIL, "drops the HUD (base): the model never sees it"),
        (NO_TOOLS, FAIL, "refuses requests with the HUD and tools: TemplateError: Unknown role: tool"),
    ],
)
def test_the_template_decides(
    template: str, verdict: Verdict, words: str, bare: Home, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    with llama_server(template) as url:
        found = asked(look, monkeypatch, url)
    assert found.verdict is verdict and words in found.words
    assert ("--chat-template-file" in found.hint) == (verdict is FAIL)


def test_a_server_that_cannot_be_asked_is_no_fault(bare: Home, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(CHECK)[CHECK].words == "none on this machine is configured"
    with llama_server(PLAIN, routes=False) as url:
        found = asked(look, monkeypatch, url)
        assert found.verdict is PASS and "cannot be asked now" in found.words
    gone = asked(look, monkeypatch, url)
    assert gone.verdict is PASS and "cannot be asked now" in gone.words
    away = asked(look, monkeypatch, "https://api.example.org/v1")
    assert away.words == "none on this machine is configured", "nobody else is asked"


def test_a_key_is_given_to_who_asks_for_it(bare: Home, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    with llama_server(PLAIN, key="sesame") as url:
        assert "cannot be asked" in asked(look, monkeypatch, url).words
        monkeypatch.setenv("OPENAI_API_KEY", "sesame")
        assert "the whole HUD arrives" in asked(look, monkeypatch, url).words


@pytest.mark.parametrize(("limit", "verdict"), [(8192, PASS), (4096, PASS), (131_072, WARN), (None, WARN)])
def test_opencode_is_told_the_servers_window(
    limit: int | None, verdict: Verdict, bare: Home, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: dict[str, Any] = {"name": "mine"} | ({"limit": {"context": limit, "output": 1024}} if limit else {})
    bare.opencode.mkdir(parents=True)
    with llama_server(ONE_SYSTEM_MESSAGE) as url:
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url}, "models": {"mine": model}}
        config = json.dumps({"provider": {"local": provider, "odd": 7, "far": {"options": {"baseURL": "https://x"}}}})
        (bare.opencode / "opencode.jsonc").write_text(f"// mine\n{config}")
        found = look(CHECK)[CHECK]
        assert found.verdict is verdict and "OpenCode, local" in found.words
        if verdict is WARN:
            counted = limit or 200_000
            assert f"counts on {counted:,} tokens for mine" in found.words and '"mine" = 8192' in found.hint
            bare.settings.parent.mkdir(parents=True, exist_ok=True)
            bare.settings.write_text("[windows]\nmine = 8192\n")
            assert look(CHECK)[CHECK].verdict is PASS, "what the hint says helps"
