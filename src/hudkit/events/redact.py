"""Secrets out of a payload before it is stored: a table of known forms, applied to the encoded JSON at once.

No pattern crosses a quote or a lone backslash, so a replacement cannot change the structure of the JSON; the private
key is the one form that spans escaped line breaks. Forms: the prefixes that issuers publish, and assignments to names
that mean a secret. A form costs one substring search where its needle is absent.
"""

from __future__ import annotations

import re

_TABLE: tuple[tuple[str, tuple[bytes, ...], bytes], ...] = (
    (
        "private-key",
        (b"private key-----",),
        (
            rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^\"\\]|\\n|\\r|\\\\[nr])*?"
            rb"(?:-----END [A-Z ]*PRIVATE KEY-----|(?=\"))"
        ),
    ),
    (
        "aws-key",
        (b"akia", b"asia", b"agpa", b"aida", b"aroa", b"anpa"),
        rb"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}\b",
    ),
    (
        "github-token",
        (b"gh", b"github_pat_"),
        rb"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
    ),
    ("gitlab-token", (b"glpat-",), rb"\bglpat-[A-Za-z0-9_\-]{20,}"),
    ("slack-token", (b"xox",), rb"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"),
    ("stripe-key", (b"k_live_", b"k_test_"), rb"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("api-key", (b"sk-",), rb"\bsk-(?=[A-Za-z_\-]*[0-9])[A-Za-z0-9_\-]{16,}"),
    ("google-key", (b"aiza",), rb"\bAIza[A-Za-z0-9_\-]{35}"),
    ("npm-token", (b"npm_",), rb"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi-token", (b"pypi-",), rb"\bpypi-[A-Za-z0-9_\-]{32,}"),
    ("huggingface-token", (b"hf_",), rb"\bhf_[A-Za-z0-9]{30,}"),
    ("jwt", (b"eyj",), rb"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"),
    ("url-password", (b"://",), rb"(?<=://)[^\s:/@\"\\]{1,64}:[^\s/@\"\\]{3,128}(?=@)"),
    ("bearer", (b"bearer ",), rb"(?i:\bbearer )[A-Za-z0-9._~+/\-]{20,}=*"),
)
_FORMS = tuple((name.encode(), needles, re.compile(form)) for name, needles, form in _TABLE)

_NAMES = (
    b"password", b"passwd", b"pwd", b"passphrase", b"secret", b"api_key", b"api-key", b"apikey", b"access_key",
    b"access-key", b"accesskey", b"auth_token", b"auth-token", b"access_token", b"access-token", b"refresh_token",
    b"refresh-token", b"private_key", b"private-key",
)  # fmt: skip
_ASSIGNED = re.compile(
    rb"(?i:(?:" + b"|".join(_NAMES) + rb"))(?:\\?[\"'])?\s{0,3}[=:]\s{0,3}(?:\\?[\"'])?"
    rb"(?P<value>[^\s\"'\\,;)}\]\[<>]{6,200})"
)
_PLACEHOLDER = re.compile(rb"(?i)^(?:[*x.]+|[$%].*|process\.env.*|os\.environ.*|getenv.*|\[redacted.*)$")


def redact(body: bytes) -> bytes:
    """`body` with every known form of a secret replaced by `[redacted:NAME]`; the same object where none is."""
    low = body.lower()
    clean = body
    for name, needles, form in _FORMS:
        for needle in needles:
            if needle in low:
                clean = form.sub(b"[redacted:" + name + b"]", clean)
                break
    if (b"=" in low or b":" in low) and any(name in low for name in _NAMES):
        clean = _ASSIGNED.sub(_value_only, clean)
    return body if clean == body else clean


def _value_only(match: re.Match[bytes]) -> bytes:
    value = match.group("value")
    if _PLACEHOLDER.match(value):
        return match.group()
    return match.group()[: -len(value)] + b"[redacted:secret]"
