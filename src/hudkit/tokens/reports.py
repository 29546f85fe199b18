"""What hosts and model servers report after a call, read as tokens in use: cache tokens counted once (A1)."""

from __future__ import annotations

from collections.abc import Mapping

# A report is of the first shape of which all `marks` are there; in use is the first sum that is not zero; the last
# column sums up to the request. A path with a dot goes into a nested record. Absent figures count as zero.
_SHAPES: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...]], ...] = (
    # OpenCode: `input` leaves the cached part out, `output` the reasoning; `total` holds everything (facts: prompt
    # 1200 of which 600 cached).
    (
        "opencode",
        ("input", "output"),
        (("total",), ("input", "output", "reasoning", "cache.read", "cache.write")),
        ("input", "cache.read", "cache.write"),
    ),
    # OpenAI chat and its imitators: `prompt_tokens` includes the cached ones.
    ("openai", ("prompt_tokens",), (("total_tokens",), ("prompt_tokens", "completion_tokens")), ("prompt_tokens",)),
    # OpenAI responses, LangChain, pydantic-ai: `input_tokens` includes the cached ones, and there is a total.
    (
        "openai-responses",
        ("input_tokens", "total_tokens"),
        (("total_tokens",), ("input_tokens", "output_tokens")),
        ("input_tokens",),
    ),
    # Anthropic: `input_tokens` is what the cache did neither give nor take.
    (
        "anthropic",
        ("input_tokens",),
        (("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"),),
        ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    ),
    # Gemini: `promptTokenCount` includes the cached ones; thoughts and what tools of its own brought are beside both.
    (
        "gemini",
        ("promptTokenCount",),
        (
            ("totalTokenCount",),
            ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"),
        ),
        ("promptTokenCount", "toolUsePromptTokenCount"),
    ),
)


def used_tokens_of(report: object) -> int | None:
    """Return the tokens that a reported call left in the window (its request and its answer).

    `None` where that is not known.

    `report` is a mapping or an object with attributes: the `usage` of an OpenAI-shaped, Anthropic-shaped or
    Gemini-shaped answer, or OpenCode's `tokens`. Never raises: a figure that is no count (negative, a
    fraction, a text) makes the whole unknown rather than wrong; so does a report that is all zeros.
    """
    for _, marks, sums, _ in _SHAPES:
        if all(_figure(report, mark) is not None for mark in marks):
            return next((total for total in (_sum(report, paths) for paths in sums) if total != 0), None)
    return None


def request_tokens_of(report: object) -> int | None:
    """Return the tokens of a reported call's request alone, cached or not; as `used_tokens_of` in all else."""
    for _, marks, _, paths in _SHAPES:
        if all(_figure(report, mark) is not None for mark in marks):
            return _sum(report, paths) or None
    return None


def _sum(report: object, paths: tuple[str, ...]) -> int | None:
    total = 0
    for path in paths:
        value = _figure(report, path)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
            return None
        total += int(value)
    return total


def _figure(report: object, path: str) -> object:
    for name in path.split("."):
        report = report.get(name) if isinstance(report, Mapping) else getattr(report, name, None)
    return report
