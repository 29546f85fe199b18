"""The environment of commands: the user's, without secrets and without what makes a shell run something unasked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hudkit.log.redact import redact

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASSWORD|PASSWD|PASS|PWD_HASH|PASSPHRASE|CREDENTIALS?"
    r"|AUTH|COOKIE|SESSION_?ID|PRIVATE|DSN|CONNECTION_STRING|WEBHOOK)(?:_|$)",
    re.I,
)
_KNOWN = re.compile(
    r"^(?:AWS_|AZURE_|GOOGLE_APPLICATION_|GCP_|GCLOUD_|ANTHROPIC_|OPENAI_|GH_|GITHUB_TOKEN|HF_|DATABASE_URL|PG|MYSQL_|"
    r"REDIS_URL|MONGO|SSH_|GPG_|KRB5|DOCKER_AUTH|NPM_CONFIG__|TWINE_|VAULT_|SENTRY_)",
    re.I,
)
_CONTROL = re.compile(
    r"^(?:BASH_ENV|ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*|LD_.*|DYLD_.*|HUDKIT_.*)$"
)

QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "NO_COLOR": "1"}
"""Set in every command: nothing waits for a key, and nothing paints."""


def scrubbed(
    environment: Mapping[str, str], *, keep: Iterable[str] = (), add: Mapping[str, str] | None = None
) -> dict[str, str]:
    """An environment without names or values that mean a secret, but for those in `keep`; `add` is set last."""
    wanted = frozenset(keep)
    found = {
        name: value
        for name, value in environment.items()
        if name in wanted or not (_CONTROL.match(name) or secret(name, value))
    }
    return {**found, **QUIET, **(add or {})}


def secret(name: str, value: str) -> bool:
    """Whether a variable is one that a command should not see: by its name, or by the form of its value."""
    if _SECRET.search(name) or _KNOWN.match(name):
        return True
    raw = b'"' + value.encode("utf-8", "replace").replace(b"\\", b"/").replace(b'"', b"'") + b'"'
    return redact(raw) != raw
