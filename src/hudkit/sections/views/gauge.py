"""The usage line and the advisories: the volatile end of a frame."""

from __future__ import annotations

from hudkit.compose import Band, Element

ADVICE: dict[Band, str] = {
    Band.YELLOW: "consider compacting at the next break point",
    Band.RED: "compact soon",
    Band.CRITICAL: "compact now; the host is about to",
}
"""One advisory for each band, told once at its entry, in neutral words (design, decided 7)."""


def amount(tokens: int) -> str:
    """Tokens in thousands where that loses nothing that matters."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)


def reading(used: int | None, limit: int, *, assumed: bool = False, estimated: bool = False) -> str:
    """The window in use in words; what is assumed, estimated or unknown is said to be."""
    size = amount(limit) + (" assumed" if assumed else "")
    if used is None:
        return f"usage unknown until the next report, window {size}"
    return f"{used * 100 / limit:.0f}% ({'~' if estimated else ''}{amount(used)}/{size})"


def warning(band: Band, entered: bool) -> str:
    """The band where it matters, with its advisory when it was entered just now."""
    if band not in ADVICE:
        return ""
    return f", {band.value}: {ADVICE[band]}" if entered else f", {band.value}"


def outlook(pace: str, calls_left: int | None, band: Band | None) -> str:
    """How usage moves, and how many calls away the next band is."""
    if calls_left is None or band is None:
        return f"; {pace}"
    calls = "1 call" if calls_left == 1 else f"{calls_left} calls"
    return f"; {pace}, about {calls} until {band.value}"


def gauge(words: str, notice: str) -> Element:
    """The usage line; `notice` says what is wrong with the HUD itself."""
    lines = [Element("text", (), ("Context: ", words))]
    if notice:
        lines.append(Element("text", (), ("HUD: ", notice)))
    return Element("document", (), tuple(lines))
