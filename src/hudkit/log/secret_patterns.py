"""Secrets in texts, replaced: the two functions of `hudkit.log.secret_search`, whose tables cost 15 ms to compile.

They are compiled when a text is first looked at, so that a program that only reads the log pays for none of it.
"""

from __future__ import annotations


def replace_secrets(body: bytes) -> bytes:
    """Return encoded JSON with every known form of a secret replaced by `[redacted:NAME]`; the same object where none
    is."""
    from hudkit.log import secret_search

    return secret_search.replace_secrets(body)


def without_secrets(text: str) -> str:
    """Return a text without known forms of secrets, as the log would have it; lone surrogates are written out."""
    from hudkit.log import secret_search

    return secret_search.without_secrets(text)
