"""Patterns of secrets, replaced in every payload before it is stored: tables of known forms, on the encoded JSON.

Inside a JSON string a quote is always escaped, and no pattern crosses a bare one: a replacement cannot change the
structure of the JSON. Forms: the prefixes that issuers publish, and values that are assigned to names which mean a
secret. A form costs one substring search where its prefix is absent. In doubt an assigned value is taken for a
secret; types, placeholders, references in code and plain prose after a colon are not.

    {"content":"export API_KEY=\\"q7Zt81LmPx\\""}  ->  {"content":"export API_KEY=\\"[redacted:secret]\\""}
"""

from __future__ import annotations

import re

_START = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4})|(?<=\\x[0-9a-f]{2}))"
"""The start of a word; the letter of an escaped line break before it is no part of it."""

_PEM = rb"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"

_TABLE: tuple[tuple[str, tuple[str, ...], bytes], ...] = (
    (
        "private-key",
        ("-----BEGIN ",),
        rb"-----BEGIN " + _PEM + rb"(?=[^\"]{0,400}?(?:[A-Za-z0-9+/]{24}|-----END))"
        rb"(?:(?!-----END)(?:[^\"\\]|\\+[nrt/]))*(?:-----END " + _PEM + rb")?",
    ),
    (
        "aws-key",
        ("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ANPA"),
        _START + rb"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rb"gh[pousr]_[A-Za-z0-9]{20,255}"),
    ("github-token", ("github_pat_",), rb"github_pat_[A-Za-z0-9_]{20,255}"),
    ("gitlab-token", ("glpat-",), rb"glpat-[A-Za-z0-9_\-]{20,255}"),
    ("slack-token", ("xox", "xapp-"), _START + rb"(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{10,255}"),
    ("stripe-key", ("k_live_", "k_test_"), rb"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    (
        "api-key",
        ("sk-",),
        # words joined by dashes are no key: one long run, or digits mixed with capitals
        _START + rb"sk-(?:(?:[a-z0-9]{1,10}-){0,3}[A-Za-z0-9_]{20,255}[A-Za-z0-9_\-]*"
        rb"|(?=[A-Za-z_\-]{0,80}[0-9])(?=[a-z0-9_\-]{0,80}[A-Z])[A-Za-z0-9_\-]{16,255})",
    ),
    ("google-key", ("AIza",), rb"AIza[A-Za-z0-9_\-]{35}"),
    ("google-secret", ("GOCSPX-",), rb"GOCSPX-[A-Za-z0-9_\-]{20,64}"),
    ("npm-token", ("npm_",), _START + rb"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", ("pypi-",), _START + rb"pypi-(?=[a-z0-9_\-]{0,80}[A-Z])[A-Za-z0-9_\-]{32,255}"),
    ("huggingface-token", ("hf_",), _START + rb"hf_[A-Za-z0-9]{30,64}"),
    ("sendgrid-key", ("SG.",), _START + rb"SG\.[A-Za-z0-9_\-]{16,64}\.[A-Za-z0-9_\-]{16,64}"),
    ("room-key", ("hudroom_",), rb"hudroom_[0-9a-f]{32,255}"),
    ("vault-token", ("hvs.",), _START + rb"hvs\.[A-Za-z0-9_\-]{20,255}"),
    ("jwt", ("eyJ",), _START + rb"eyJ[A-Za-z0-9_\-]{8,4096}\.eyJ[A-Za-z0-9_\-]{8,4096}(?:\.[A-Za-z0-9_\-]*)?"),
    ("url-password", ("://",), rb"(?<=://)[^\s:/@\"'\\?#]{0,64}:[^\s/@\"'\\?#]{3,128}(?=@)"),
)
_FORMS = tuple(
    (needle, b"[redacted:" + name.encode() + b"]", form)
    for name, needles, pattern in _TABLE
    for form in (re.compile(pattern),)
    for needle in needles
)


def _gate(needle: str) -> str:
    return next(sign for sign in "_-A" + needle[0] if sign in needle)


_GATES = tuple(
    (gate, tuple(entry for entry in _FORMS if _gate(entry[0]) == gate))
    for gate in dict.fromkeys(_gate(needle) for needle, _, _ in _FORMS)
)
"""The forms by a character that all their needles share: one look for it spares the search for each."""

_OPENS = rb"(?P<quote>\\+[\"']|')"
_BETWEEN = rb"(?:\\*')?(?:\\+\")?[ \t]{0,3}(?P<sign>=>|:=|=|:)[ \t]{0,3}"
_QUOTED = rb"(?P<quoted>[^\"'\\]{4,200})(?=\\*[\"'])"
_PLAIN = rb"(?P<plain>(?:[^\s\"'\\,;)}\]\[<>&]|,(?=[^\s\"'\\])){4,200})"
_VALUE = rb"(?:" + _OPENS + _QUOTED + rb"|" + _PLAIN + rb")"

_STRONG = re.compile(
    rb"(?i:(?P<name>passw(?:or)?d|passwd|pwd|passphrase|secret(?:[_-]?(?:key|token|value))?|api[_-]?key|apikey"
    rb"|(?:access|private|account|encryption|signing|master)[_-]?key|(?:auth|access|refresh|bearer)[_-]?token))"
    + _BETWEEN
    + _VALUE
)
"""An assignment to a name that means a secret: any value."""

_WEAK = re.compile(
    rb"(?i:(?P<name>token|authorization|credentials?|webhook))" + _BETWEEN + rb"(?P<quote>\\+[\"']|')?"
    rb"(?i:(?:bearer|basic|token) )?"
    rb"(?P<plain>(?=[A-Za-z._~+/\-]{0,80}[0-9])(?=[0-9._~+/\-]{0,80}[A-Za-z])[A-Za-z0-9._~+/\-]{16,255}={0,2})"
)
"""An assignment to a name that often means a secret: a value that is long and mixes letters and digits."""

_FLAG = re.compile(
    rb"--(?:password|passwd|token|secret|api-?key|(?:auth|access)-token)[ ]{1,3}"
    rb"(?P<plain>(?=[^\s\"'\\0-9]{0,80}[0-9])[^\s\"'\\\-][^\s\"'\\]{5,200})"
)
"""A value behind a command's flag: one with a digit in it."""

_BEARER = re.compile(
    rb"(?i:bearer|basic) (?P<plain>(?=[A-Za-z._~+/\-]{0,80}[0-9])(?=[0-9._~+/\-a-z]{0,80}[A-Z])"
    rb"[A-Za-z0-9._~+/\-]{16,4096}={0,2})"
)

_NO_SECRET = re.compile(
    rb"(?i)(?:[*x.\-]+|(?:\xe2\x80[\xa2\xa6])+|[$%{].*|=.*"
    rb"|(?:process\.env|os\.environ|os\.getenv|getenv|env)\b.*|\[?redacted.*"
    rb"|(?:true|false|none|null|nil|undefined|required|optional|string|str|bytes|boolean|bool|number|integer|text"
    rb"|varchar|secretstr|any|unknown|missing|invalid|changed|expired|empty|hidden|field)[.!?:]?)"
)
"""Values that are none: masks, variables, types and states."""

_CODE = re.compile(
    rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(.*"  # a call
    rb"|[A-Za-z_]+(?:\.[A-Za-z_]+)+"  # an attribute
    rb"|[A-Za-z]*_(?:[A-Za-z]+_)*(?:password|passwd|secret|token|key)|(?:new|old|user)_[a-z_]+"  # a variable
)

_ASSIGNED = (
    (("passw", "pwd", "passphrase", "secret", "key", "token"), _STRONG, True),
    (("token", "authorization", "credential", "webhook"), _WEAK, True),
    (("--",), _FLAG, False),
    (("bearer ", "basic "), _BEARER, False),
)
"""Forms of assigned values, what each of their matches holds in small letters, and whether a sign follows that."""

_ASSIGNMENT = re.compile(r"[a-z_\-]{0,6}(?:\\*')?(?:\\+\")?[ \t]{0,3}[:=]").match
"""What follows a needle where a value is assigned: the rest of the name (`ord` of `password`, `_value` of
`secret_value`) and a sign. Most texts name tokens and keys and assign none: to look here spares them the form."""


def replace_secrets(body: bytes) -> bytes:
    """Return `body` with every known form of a secret replaced by `[redacted:NAME]`.

    The same object where none is.
    """
    clean = body
    text = body.decode("latin-1")  # one character per byte; substrings are found faster in it
    for gate, entries in _GATES:
        if gate in text:
            for needle, mask, form in entries:
                if needle in text:
                    clean = form.sub(mask, clean)
    # Beyond ASCII, bytes are put into small letters ten times faster than text.
    low = text.lower() if body.isascii() else body.lower().decode("latin-1")
    low = low.replace('tokens":', "")  # fields of our own events, which no form matches
    for needles, form, with_sign in _ASSIGNED:
        for needle in needles:
            if needle in low and (not with_sign or _is_assigned(low, needle)):
                clean = form.sub(_value_only, clean)
                break
    return body if clean == body else clean


def _is_assigned(low: str, needle: str) -> bool:
    """Whether a sign of assignment follows the needle somewhere, so that its form may match."""
    start = low.find(needle)
    while start >= 0:
        start += len(needle)
        if _ASSIGNMENT(low, start):
            return True
        start = low.find(needle, start)
    return False


def _value_only(match: re.Match[bytes]) -> bytes:
    groups = match.groupdict()
    kind = "quoted" if groups.get("quoted") is not None else "plain"
    value: bytes = groups[kind]
    if _harmless(groups, value, kind == "quoted", match.string[match.end() : match.end() + 2]):
        return match.group()
    start, end = match.start(kind) - match.start(), match.end(kind) - match.start()
    return match.group()[:start] + b"[redacted:secret]" + match.group()[end:]


def _harmless(groups: dict[str, bytes | None], value: bytes, quoted: bool, behind: bytes) -> bool:
    """Whether an assigned value is surely no secret; `behind` is what follows it."""
    name = (groups.get("name") or b"").lower()
    if _NO_SECRET.fullmatch(value) or value.lower() == name:
        return True
    # `PWD=/home/...` is the working directory of a shell.
    if name == b"pwd" and value[:1] in b"/~.":
        return True
    if quoted:
        return False
    if _CODE.fullmatch(value):
        return True
    # "password: required reading" is prose; "password=required" is not, and neither is a value with a digit in it.
    prose = value.rstrip(b".!?").isalpha() and re.match(rb"[ ][A-Za-z]", behind) is not None
    return prose and b":" in (groups.get("sign") or b"")
