"""Names of models as other hosts' files write them, in ours: `provider:name`.

`anthropic/claude-sonnet-4-6` is OpenCode's notation, `sonnet` and `inherit` are Claude Code's, and a bare
`claude-sonnet-4-6` is everybody's.
"""

from __future__ import annotations

CLAUDE_ALIASES = {
    "haiku": "claude-haiku-4-5",
    "opus": "claude-opus-4-6",
    "sonnet": "claude-sonnet-4-6",
}
"""Claude Code's short names, and the model that each stands for here. A session on a model of the same family (a
newer Sonnet) keeps its own."""

_SAME = ("", "inherit", "default")
_PROVIDERS_BY_BEGINNING = (
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("chatgpt", "openai"),
    ("gemini", "google"),
    ("mistral", "mistral"),
    ("grok", "grok"),
    ("deepseek", "deepseek"),
)


def resolve_model_name(wanted: str, present: str) -> str:
    """Return a model's name as `provider:name`: `present` (written so) where that is meant, and `wanted` as it is
    where nobody knows whose model it is.

    A name without a provider has the one whose models begin so.
    """
    wanted = wanted.strip()
    family = wanted.casefold()
    if family in _SAME:
        return present
    if ":" in wanted.partition("/")[0]:
        return wanted
    if "/" in wanted:
        return wanted.replace("/", ":", 1)
    if family in CLAUDE_ALIASES:
        if f"claude-{family}" in present:
            return present
        provider = present.partition(":")[0] if "claude" in present else "anthropic"
        return f"{provider}:{CLAUDE_ALIASES[family]}"
    for beginning, provider in _PROVIDERS_BY_BEGINNING:
        if family.startswith(beginning):
            return f"{provider}:{wanted}"
    return wanted
