"""The story of `hudkit demo`: its figures come from the report, and it fits two screens."""

from __future__ import annotations

import pytest

from hudkit.cli.replays import Report
from hudkit.cli.replays.report_text import WIDTH, TerminalStyle
from hudkit.cli.replays.story import calm_frame, fullest_frame, story_lines

pytestmark = pytest.mark.slow

NEXT = (("hudkit replay FILE", "yours"), ("hudkit --help", "all"))


@pytest.fixture(scope="module")
def story(orchard_report: Report) -> list[str]:
    return list(story_lines(orchard_report, TerminalStyle(), NEXT))


def test_it_fits_two_screens(story: list[str]) -> None:
    assert len(story) <= 124
    assert max(map(len, story)) <= WIDTH
    assert not any("\x1b" in line or line != line.rstrip() for line in story)


def test_the_two_frames(orchard_report: Report, story: list[str]) -> None:
    frames = orchard_report.sessions[0].frames
    first, second = calm_frame(frames), fullest_frame(frames)
    assert first.band == "green" and first.used_tokens is not None and first.used_tokens < 0.7 * 44_000
    assert second.band == "red" and second.density != "full"
    assert any(f"call {first.turn} of 165" in line and f"{first.tokens} tokens" in line for line in story)
    shown = "\n".join(line.removeprefix("  │").strip() for line in story)
    for text in (*first.deltas, second.base):
        for line in text.splitlines():
            if len(line) < WIDTH - 6:
                assert line in shown


def test_figures_are_those_of_the_report(orchard_report: Report, story: list[str]) -> None:
    text = "\n".join(story)
    for variant in orchard_report.costs[0].variants:
        assert f"{variant.input_tokens:,}" in text and f"${variant.dollars:,.2f}" in text
        assert f"{variant.times_dollars:.2f}" in text
    assert not any(one.reason == "budget" for one in orchard_report.sessions[0].epochs)
    idle = sum(one.reason == "idle" for one in orchard_report.sessions[0].epochs)
    assert 5 <= idle <= 15 and "the cache had expired anyway" in text.replace("\n    ", " ")
    assert "17 → 17" in text and "Nothing was lost." in text
    assert all(command in text for command, _ in NEXT)
