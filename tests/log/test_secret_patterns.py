"""Secrets never reach a log: every known form in every place where text may carry it, and ordinary text untouched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.log.codec import encode_payload
from hudkit.log.payloads import ErrorEncountered, FileOpen, NoteAdd, StepReorder, TodoItem, TodoSync
from hudkit.log.secret_patterns import replace_secrets, without_secrets

pytestmark = pytest.mark.slow

# Written in two halves, so that no scanner takes this file for a leak.
FORMS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws session": "ASIA" + "Y34FZKBOKMUTVV7A",
    "openai": "sk-" + "T3BlbkFJ0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t",
    "openai letters only": "sk-" + "abcdefghijklmnopqrstuvwxyzabcdef",
    "openai project": "sk-proj-" + "Ab1_Cd2-Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv",
    "anthropic": "sk-ant-api03-" + "Xy9-Zw8_Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0",
    "openrouter": "sk-or-v1-" + "0123456789abcdef" * 4,
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "github app": "ghs_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "github fine": "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789",
    "gitlab": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "npm": "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJGFiY2RlZjAxLTIzNDU2Nzg5",
    "huggingface": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ012345",
    "sendgrid": "SG." + "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc",
    "room key": "hudroom_" + "0123456789abcdef" * 3,
    "vault": "hvs." + "CAESIJ1234567890abcdefghij",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}

PLACES = {
    "alone": "{}",
    "prose": "use {} for now, then rotate it",
    "quoted": 'key is "{}".',
    "single quotes": "key is '{}'",
    "env": "export KEY={}",
    "json": '{{"a": {{"value": "{}"}}}}',
    "json in json": '{{"a": "{{\\"value\\": \\"{}\\"}}"}}',
    "url": "https://host/path?x=1&key={}&y=2",
    "own line": "first line\n{}\nlast line",
    "carriage return": "first line\r\n{}\r\nlast line",
    "tab": "name\t{}\tend",
    "escape code": "\x1b[31m\x1f{}\x1b[0m",
    "parentheses": "connect({})",
    "unicode around": "Schlüssel „{}“ für später",
    "surrogates around": "\ud800{}\udfff",
    "code fence": "```sh\ncurl -H 'x: {}'\n```",
}

PEM_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
PEM = f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\n{PEM_BODY}\n-----END PRIVATE KEY-----"

ASSIGNED = [
    ("password=hunter2", "hunter2"),
    ("password=supersecret", "supersecret"),
    ("PASSWORD: hunter2", "hunter2"),
    ("password = 'correct horse battery staple'", "correct horse battery staple"),
    ('"password": "hunter2!"', "hunter2!"),
    ('{"db": {"password": "pa55 word"}}', "pa55 word"),
    ('{\\"password\\": \\"hunter22\\"}', "hunter22"),
    ("DB_PASSWORD=s3cr3t-value", "s3cr3t-value"),
    ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("DJANGO_SECRET_KEY='k9$!abc@12'", "k9$!abc@12"),
    ("client_secret: 8fj2kd93ks", "8fj2kd93ks"),
    ("api_key=abcd1234efgh", "abcd1234efgh"),
    ("apiKey: 'abcd1234efgh'", "abcd1234efgh"),
    ("AccountKey=Zm9vYmFyYmF6cXV4;Endpoint=x", "Zm9vYmFyYmF6cXV4"),
    ("GITHUB_TOKEN=abc123def456ghi789", "abc123def456ghi789"),
    ("token: 0123456789abcdef0123", "0123456789abcdef0123"),
    ("Authorization: Bearer abcDEF123456ghiJKL789", "abcDEF123456ghiJKL789"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "dXNlcjpwYXNzd29yZDE"),
    ("curl -H 'authorization: token 0123456789abcdef'", "0123456789abcdef"),
    ("mysql --password hunter2x", "hunter2x"),
    ("postgres://app:hunter2@db.local/main", "hunter2"),
    ("redis://:hunter2@cache:6379/0", "hunter2"),
    ("https://host/login?user=x&password=hunter2&next=/", "hunter2"),
    ("first\npassword=hunter2\nlast", "hunter2"),
    ("pwd=hunter2", "hunter2"),
    ("passphrase: swordfish", "swordfish"),
]

ORDINARY = [
    "sk-learn-compatible-estimators",
    "sk-learn-compatible-estimators-2",
    "token count: 15000",
    "tokens: 128000, max_tokens=4096",
    "key: value",
    "primary key: id, foreign key: user_id",
    "password field in form.py",
    "secret santa list",
    "the password must not be logged",
    "Decision: the secret: always write tests first",
    "password: required",
    "password: string;",
    "def login(user: str, password: str) -> bool:",
    "password = get_password()",
    "password=os.environ['DB_PASSWORD']",
    "password = settings.database.password",
    "password = new_password",
    "login(password=password)",
    "password=$DB_PASSWORD and api_key=${API_KEY}",
    "api_key={{ vault.key }}",
    "api_key: ********",
    "PWD=/home/me/project",
    "pwd: ~/code/main",
    "if password == expected: return",
    "monkey: banana",
    "tests/test_token_bucket.py::test_refill PASSED",
    "https://example.org:8443/@scope/pkg",
    "git@github.com:owner/repo.git",
    "ssh://git@host:22/repo",
    "through the night, weighs_a_lot_more_than_that",
    "basic authentication and bearer authentication-and-authorization-flow",
    "pypi-attestations-and-some-long-package-name-here",
    "eyJ is how a JWT starts",
    "AKIA is the prefix of a key id",
    "-----BEGIN PRIVATE KEY----- is what the linter looks for",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 0190b5c0-7f3e-7a10-8c55-3b1f0a4c2d11",
    "Error: password: invalid",
    "--token is required",
    "src/auth/secret_store.py:42: error: secret: unknown name",
    "C:\\new\\tables\\secret.txt",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_known_form_is_taken_out_wherever_it_stands(form: str, place: str) -> None:
    text = PLACES[place].format(FORMS[form])
    sealed = encode_payload(NoteAdd(text))
    assert FORMS[form].encode() not in sealed.body
    assert b"[redacted:" in sealed.body
    assert isinstance(sealed.payload, NoteAdd)
    assert sealed.payload.content == json.loads(sealed.body)["content"]
    before, after = text.encode("utf-8", "backslashreplace").decode().split(FORMS[form])
    assert sealed.payload.content.startswith(before[:1])
    assert sealed.payload.content.endswith(after[-1:])


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        f"before\n{PEM}\nafter",
        json.dumps({"key": PEM}),
        PEM.replace("PRIVATE KEY", "RSA PRIVATE KEY"),
        PEM.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
        PEM.replace("\n", "\r\n"),
        PEM[:-40],
        f'"{PEM[:90]}" and more',
        "Proc-Type: 4,ENCRYPTED\n" + PEM,
    ],
)
def test_private_key_is_taken_out_whole(text: str) -> None:
    body = encode_payload(NoteAdd(text)).body
    assert PEM_BODY[:30].encode() not in body
    assert b"[redacted:private-key]" in body


def test_text_around_a_private_key_stays() -> None:
    payload = encode_payload(NoteAdd(f"before\n{PEM}\nafter")).payload
    assert payload == NoteAdd("before\n[redacted:private-key]\nafter")


@pytest.mark.parametrize(("text", "secret"), ASSIGNED)
def test_value_assigned_to_a_secret_name_is_taken_out(text: str, secret: str) -> None:
    payload = encode_payload(NoteAdd(text)).payload
    assert isinstance(payload, NoteAdd)
    assert secret not in payload.content
    assert "[redacted:" in payload.content


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert encode_payload(NoteAdd(text)).payload == NoteAdd(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("DB_PASSWORD=Tr0ub4dor&3", "DB_PASSWORD=[redacted:secret]"),
        ("/login?password=hunter2&next=/", "/login?password=[redacted:secret]&next=/"),
        ("Password=hunter2;Database=shop", "Password=[redacted:secret];Database=shop"),
        ("postgres://app:hunter2@db/shop", "postgres://app:[redacted:url-password]@db/shop"),
        ("curl -u me:hunter2 https://x", "curl -u me:[redacted:secret] https://x"),
        ("<password>hunter2</password>", "<password>[redacted:secret]</password>"),
        ("machine h login me password hunter2", "machine h login me password [redacted:secret]"),
        ("pass\u200bword=hunter2 \u200b.", "pass\u200bword=[redacted:secret] \u200b."),
    ],
)
def test_nothing_but_the_secret_goes(text: str, clean: str) -> None:
    assert encode_payload(NoteAdd(text)).payload == NoteAdd(clean)


def test_token_that_invisible_characters_split_goes_whole() -> None:
    for sign in ("\u200b", "\u2060", "\ufeff", "\u00ad", "\U000e0041"):
        split = sign.join((FORMS["github"][:9], FORMS["github"][9:20], FORMS["github"][20:]))
        assert encode_payload(NoteAdd(f"a {split} b")).payload == NoteAdd("a [redacted:github-token] b")


def test_json_in_a_plain_text_is_read_as_in_a_payload() -> None:
    """The search index and the daemon's log hold plain texts, in which quotes are not escaped."""
    assert without_secrets('{"password": "hunter2"}') == '{"password": "[redacted:secret]"}'
    text = "no secret \ud800"
    assert without_secrets(text) is text


def test_every_field_of_every_payload_is_covered() -> None:
    secret = FORMS["github"]
    payloads = [
        FileOpen(f"/tmp/{secret}.txt"),
        ErrorEncountered(f"401 with {secret}", key=f"bash: curl {secret}"),
        TodoSync((TodoItem("a"), TodoItem(f"rotate {secret}"))),
        StepReorder(("s1", secret)),
    ]
    for payload in payloads:
        assert secret.encode() not in encode_payload(payload).body


def test_nothing_found_gives_back_the_same_bytes() -> None:
    body = b'{"type":"note.add","content":"plain"}'
    assert replace_secrets(body) is body


@given(st.text(max_size=60), st.sampled_from(sorted(FORMS)), st.text(max_size=60))
@settings(deadline=None, max_examples=300)
def test_redaction_keeps_the_json_sound(before: str, form: str, after: str) -> None:
    sealed = encode_payload(NoteAdd(f"{before} {FORMS[form]} {after}", id=after))
    assert json.loads(sealed.body)["type"] == "note.add"
    assert FORMS[form].encode() not in sealed.body
    assert replace_secrets(sealed.body) == sealed.body


TRICKY = st.lists(
    st.sampled_from(
        ["password", "secret", "token", "=", ":", " ", '"', "'", "\\", "\n", ",", "{", "}", "[", "]", "&", "abc",
         "12345", "hunter2x", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "://", "@", "--",
         "Bearer ", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "sk-", "\x00", "é"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(TRICKY, TRICKY)
@settings(deadline=None, max_examples=500)
def test_no_text_breaks_out_of_its_field(content: str, other: str) -> None:
    payload = encode_payload(NoteAdd(content, id=other)).payload
    assert isinstance(payload, NoteAdd)
    assert set(json.loads(encode_payload(NoteAdd(content, id=other)).body)) <= {"type", "content", "id"}
    assert encode_payload(payload).payload == payload, "redacting twice changes nothing more"


@pytest.mark.slow
def test_hostile_text_costs_no_more_than_its_length() -> None:
    """Quadratic patterns would take hours here; the run itself is the check."""
    for piece in (
        "eyJ-",
        "eyJaaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "sk-a-",
        "://a:",
        "password=",
        "ghp_",
        "a" * 9,
        "curl -u a",
        "mysql -p",
        "login a password ",
        "password:$",
        "<password>",
        "https://a",
        "s.st.pat.",
        "eyJaaaaaaaa.eyJ.",
        "\u200bghp_",
    ):
        encode_payload(NoteAdd(piece * (400_000 // len(piece))))
