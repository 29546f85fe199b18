"""The usage line: what is known, assumed or estimated is said so; advisories once, in neutral words."""

from __future__ import annotations

import pytest

from hudkit.compose import Band
from hudkit.compose.formats.markdown import render
from hudkit.sections.document_builder import (
    BAND_ADVICE,
    band_text,
    model_words,
    short_token_count,
    tail_document,
    usage_text,
)

K = 1000


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (1, "1"), (999, "999"), (K, "1k"), (1499, "1k"), (1501, "2k"), (128 * K, "128k"), (K * K, "1000k")],
)
def test_amount(tokens: int, text: str) -> None:
    assert short_token_count(tokens) == text


@pytest.mark.parametrize(
    ("used", "limit", "doubt", "estimated", "text"),
    [
        (90 * K, 200 * K, "", False, "45% (90k/200k)"),
        (90 * K, 200 * K, "assumed", False, "45% (90k/200k assumed)"),
        (90 * K, 200 * K, "", True, "45% (~90k/200k)"),
        (90 * K, 200 * K, "assumed", True, "45% (~90k/200k assumed)"),
        (0, 200 * K, "", False, "0% (0/200k)"),
        (500, 800, "", False, "62% (500/800)"),
        (250 * K, 200 * K, "", False, "125% (250k/200k)"),
        (None, 200 * K, "", False, "usage unknown until the next report, window 200k"),
        (None, 200 * K, "assumed", False, "usage unknown until the next report, window 200k assumed"),
        (None, 200 * K, "", True, "usage unknown until the next report, window 200k"),
        (27 * K, 40 * K, "observed", False, "68% (27k/40k observed)"),
        (None, 999, "", False, "usage unknown until the next report, window 999"),
    ],
)
def test_reading(used: int | None, limit: int, doubt: str, estimated: bool, text: str) -> None:
    assert usage_text(used, limit, doubt=doubt, estimated=estimated) == text


@pytest.mark.parametrize(
    ("band", "entered", "text"),
    [
        (Band.GREEN, True, ""),
        (Band.GREEN, False, ""),
        (Band.UNKNOWN, True, ""),
        (Band.YELLOW, True, ", yellow: consider compacting at the next break point"),
        (Band.YELLOW, False, ", yellow"),
        (Band.RED, True, ", red: compact soon"),
        (Band.RED, False, ", red"),
        (Band.CRITICAL, True, ", critical: compact now"),
        (Band.CRITICAL, False, ", critical"),
    ],
)
def test_warning(band: Band, entered: bool, text: str) -> None:
    assert band_text(band, entered) == text


def test_the_host_is_about_to_compact_only_where_it_does() -> None:
    assert band_text(Band.CRITICAL, True, compacts=True) == ", critical: compact now; the host is about to"
    assert band_text(Band.RED, True, compacts=True) == ", red: compact soon"


def test_advice_is_neutral() -> None:
    assert set(BAND_ADVICE) == {Band.YELLOW, Band.RED, Band.CRITICAL}
    for text in BAND_ADVICE.values():
        assert "must" not in text.lower() and "!" not in text


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("claude-sonnet-4-5", " of claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5-20250929", " of claude-sonnet-4-5"),
        ("claude-opus-4-1@20250805", " of claude-opus-4-1"),
        ("gpt-4o-2024-11-20", " of gpt-4o"),
        ("openrouter/qwen/qwen3-coder:30b", " of qwen3-coder:30b"),
        ("llama3.2:latest", " of llama3.2"),
        ("", ""),
        ("m" * 33, ""),
        ("a name that\n# is none", ""),
        ("a*b*", ""),
    ],
)
def test_a_model_is_named_without_its_provider_and_its_date(model: str, words: str) -> None:
    assert model_words(model) == words
    assert render(tail_document(f"45% (90k/200k){words}", "")) == f"Context: 45% (90k/200k){words}\n"


def test_the_gauge_and_its_notice() -> None:
    assert render(tail_document("45% (90k/200k)", "")) == "Context: 45% (90k/200k)\n"
    assert render(tail_document("45%", "state: read-only")) == "Context: 45%\n\nHUD: state: read-only\n"
    assert render(tail_document("~1k *x*", "# y\n# z")).count("\n") == 3, "each is one line, whatever it holds"
