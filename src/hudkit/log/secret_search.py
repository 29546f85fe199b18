r"""Patterns of secrets, replaced in every payload before it is stored: tables of known forms, on the encoded JSON.

Three kinds are known: tokens by the prefix that their issuer publishes (`_ISSUERS`), values behind a name that means
a secret (`password=`, `"api_key": "…"`, `<token>…</token>`), and places of commands, addresses and files where a
secret stands (`curl -u`, `https://user:…@`, `.netrc`). The issuers are those of gitleaks' rules and some more; the
facts (prefix, letters, length) are theirs, the expressions are not.

    {"content":"export API_KEY=\"q7Zt81LmPx\""}  ->  {"content":"export API_KEY=\"[redacted:secret]\""}

How it stays fast: a token of an issuer is a run of at least `_RUN` letters, digits, `_`, `-` and dots. The runs are
found by two scans in C, and prefixes are looked for in them alone. Every expression is matched at the place of its
needle, never searched for, and what it repeats without a limit comes last: the whole costs no more than the length.

How the JSON stays whole: inside a JSON string a quote is always escaped; no expression crosses a bare one, and none
ends within an escape. Characters that cannot be seen are taken out before the search, so that a token which was split
by them is found, and goes with them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, chain

import msgspec

from hudkit.lazy import lazy_pattern

_Span = tuple[int, int, bytes]
"""Where a secret begins and ends, and what is put in its place."""

_RUN = 20
"""Characters in one run, at least, of a token that an issuer's prefix marks."""

_ISSUERS = r"""
aws-key            AKIA ASIA AGPA AIDA AROA ANPA ABIA ACCA [A-Z0-9]{16}(?!%a)
aws-key            ABSK bedrock-api-key-YmVkcm9j      %s{60,}={0,2}
aws-key            amzn.mws.                          %g
google-key         AIza                               %w{35}
google-secret      GOCSPX-                            %w{20,}
google-token       ya29.                              %w{20,}
google-token       1//0                               %w{30,}
azure-secret       Q~<4                               %a[%a_~.]{2}[0-9]Q~[%a_~.\-]{31,34}
azure-token        AZDO<76                            %a{76}AZDO%a{4}(?!%a)
digitalocean-token dop_v1_ doo_v1_ dor_v1_            %h{64}
alibaba-key        LTAI                               %a{16,24}(?!%a)
tencent-key        AKID                               %a{32}(?!%a)
heroku-key         HRKU-                              %w{30,}
cloudflare-key     v1.0-                              %h{24}-%h{100,}
flyio-token        fo1_ fm1a_ fm1r_ fm2_              [%a+/\-_,]{40,}={0,3}
netlify-token      nfp_ nfc_ nfo_                     %a{36}
render-key         rnd_                               %a{24,}
yandex-key         AQVN                               %w{35,}
yandex-key         YCAJE YCM YCN YCO YCP              %w{30,}
github-token       ghp_ gho_ ghu_ ghs_ ghr_           %a{20,}
github-token       github_pat_                        [%a_]{20,}
gitlab-token       glpat- glrt- gldt- glptt- glft- glcbt- %w{20,}(?:\.%a{2}(?:\.)?%a{7,12})?
gitlab-token       glagent- glffct- glimt- gloas- glsoat- GR1348941 %w{20,}(?:\.%a{2}(?:\.)?%a{7,12})?
gitlab-token       _gitlab_session=                   %a{32}
bitbucket-token    ATBB                               %a{32}
atlassian-token    ATATT3 ATCTT3 ATOA                 %w{50,}(?:=%h{8})?
npm-token          npm_                               %a{36}
pypi-token         pypi-                              (?=[a-z0-9_\-]{0,80}[A-Z])%w{32,}
rubygems-key       rubygems_                          %h{48}
cargo-token        cio                                %a{32}(?!%a)
nuget-key          oy2                                [a-z0-9]{43}(?!%a)
docker-token       dckr_pat_ dckr_oat_                %w{20,}
jfrog-key          AKCp                               %a{60,}
jfrog-key          cmVmd                              %a{59}(?!%a)
clojars-token      CLOJARS_                           %a{60}
packagist-token    packagist_                         [a-z]{3,5}_%h{40,}
sonar-token        squ_ sqp_ sqa_                     %h{40}
circleci-token     CCIPAT_ CCIPRJ_                    %a{20,}_%h{40}
buildkite-token    bkua_ bkct_ bkaj_                  %a{40}
terraform-token    .atlasv1.<14                       %a{14}\.atlasv1\.%w{60,}
pulumi-token       pul-                               %h{40}
vault-token        hvs. hvb. hvr.                     %w{20,}
vault-token        s.                                 (?=%a{0,22}[0-9])(?=%a{0,22}[A-Z])%a{24}(?![%a.(_\-])
doppler-token      dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. (?:[a-z0-9_\-]{2,35}\.)?%a{40,}
onepassword-key    A3-                                [A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}(?![%a\-])
onepassword-key    ops_eyJ                            %s{100,}={0,3}
age-key            AGE-SECRET-KEY-1                   [A-Z0-9]{58}
infisical-token    st.                                %g\.%h{20,}\.%h{20,}
dynatrace-token    dt0c01. dt0s16.                    %a{24}\.%a{64}
harness-key        pat. sat.                          %w{22}\.%a{24}\.%a{20}
octopus-key        API-                               [A-Z0-9]{26}(?![%a\-])
openshift-token    sha256~                            %w{43}
prefect-key        pnu_                               %a{36}
readme-key         rdme_                              [a-z0-9]{70}
scalingo-token     tk-us-                             %w{48}
shippo-token       shippo_live_ shippo_test_          %h{40}
sourcegraph-token  sgp_                               (?:%a{5,16}_)?%h{40}
settlemint-token   sm_aat_ sm_pat_ sm_sat_            %a{16}
authress-key       sc_ ext_ scauth_ authress_         %a{5,30}\.%a{4,6}\.acc[_\-]%w{10,32}\.[%a+/_=\-]{30,}
duffel-token       duffel_live_ duffel_test_          [%a_=\-]{43}
easypost-key       EZAK EZTK                          %a{54}
flutterwave-key    FLWSECK_TEST- FLWSECK-             %a{12,}(?:-X)?
frameio-token      fio-u-                             [%w=]{64}
infracost-key      ico-                               %a{32}(?![%a\-])
intra42-secret     s-s4t2ud- s-s4t2af-                %h{64}
maxmind-key        _mmk<36                            %a{6}_%a{29}_mmk(?!%a)
defined-token      dnkey-                             %w{26}-%w{52}
clickhouse-key     4b1d                               %a{38}(?!%a)
adobe-secret       p8e-                               %a{32}(?![%a\-])
api-key            sk-                                (?:[a-z0-9]{1,10}-){0,3}[%a_]{20,}%w*
api-key            sk-                                (?=[A-Za-z_\-]{0,80}[0-9])(?=[a-z0-9_\-]{0,80}[A-Z])%w{16,}
api-key            sk-lf- pk-lf-                      %g
groq-key           gsk_                               %a{40,}
xai-key            xai-                               %a{60,}
perplexity-key     pplx-                              %a{40,}
replicate-token    r8_                                %a{37}
huggingface-token  hf_                                %a{30,}
huggingface-token  api_org_                           %a{34}
fireworks-key      fw_                                (?=[a-zA-Z]{0,24}[0-9])%a{22,24}(?!%w)
cerebras-key       csk-                               [a-z0-9]{40,}
nvidia-key         nvapi-                             %w{60,}
langsmith-key      lsv2_pt_ lsv2_sk_                  %h{32}_%h{10}
pinecone-key       pcsk_                              %a{4,8}_%a{50,}
elevenlabs-key     sk_                                %h{48}(?!%a)
tavily-key         tvly-                              (?:dev-|prod-)?%a{32}
jina-key           jina_                              %w{50,}
stripe-key         sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_ sk_prod_ rk_prod_ %a{16,}
stripe-key         whsec_                             [%a+/]{32,}={0,2}
square-token       EAAA                               (?=[A-Za-z_\-]{0,60}[0-9])%w{50,}
square-token       sq0csp- sq0atp-                    %w{22,}
paypal-token       access_token$production$           %a{16}\$%h{32}
shopify-token      shpat_ shpca_ shppa_ shpss_        %h{32}
plaid-token        access-production- access-sandbox- access-development- %g
twilio-key         SK                                 %h{32}(?!%a)
sendgrid-key       SG.                                %w{16,64}\.%w{16,64}
mailgun-key        key-                               %h{32}(?!%a)
mailchimp-key      -us<32                             %h{32}-us[0-9]{1,2}(?!%a)
brevo-key          xkeysib- xsmtpsib-                 %h{64}-%a{16}
resend-key         re_                                (?=[A-Za-z_]{0,33}[0-9])%a{8}_%a{24}(?!%w)
slack-token        xoxb- xoxp- xoxa- xoxe- xoxo- xoxr- xoxs- xapp- xoxe. (?:xox[bp]-)?[%a\-]{10,}
telegram-token     :AA                                (?<=[0-9]:AA)%w{33}(?!%w)
linear-key         lin_api_ lin_oauth_                %a{32,}
notion-token       ntn_                               %a{40,}
notion-token       secret_                            (?=[A-Za-z]{0,43}[0-9])%a{43}(?!%w)
airtable-token     pat                                %a{14}\.%h{64}
figma-token        figd_ figu_ figo_                  %w{20,}
dropbox-token      sl. sl.u.                          %w{100,}
hubspot-token      pat-na1- pat-na2- pat-na3- pat-eu1- %g
typeform-token     tfp_                               [%w.=]{40,}
postman-key        PMAK-                              %h{24}-%h{34}
facebook-token     EAACEdEose0cBA EAAM EAAC EAAG      %a{60,}
twitter-token      AAAAAAAAAAAAAAAAAAAAA              [%a%]{60,}
newrelic-key       NRAK- NRII- NRJS- NRSP- NRIQ- NRRA- [%a\-]{19,}
newrelic-key       NRAL<36                            %h{36}NRAL(?!%a)
grafana-token      glsa_                              %a{32}_%h{8}
grafana-token      glc_                               [%a+/]{32,}={0,3}
grafana-token      eyJrIjoi                           [%a+/]{60,}={0,3}
sentry-token       sntryu_                            %h{64}
sentry-token       sntrys_                            [%a+/=]{40,}_[%a+/]{43}
honeycomb-key      hcaik_ hcaic_ hcamk_ hcbik_        %a{50,}
posthog-key        phx_ phs_                          %a{40,}
mapbox-token       sk.eyJ                             %w{40,}\.%w{20,}
databricks-token   dapi                               %h{32}(?:-[0-9])?(?!%a)
planetscale-token  pscale_pw_ pscale_tkn_ pscale_oauth_ [%w.=]{32,}
supabase-key       sbp_                               %h{40}
supabase-key       sb_secret_                         %w{22,}
neon-key           napi_                              [a-z0-9]{60,}
tailscale-key      tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook- [%a\-]{20,}
launchdarkly-key   sdk- api- mob-                     %g(?!%w)
room-key           hudroom_                           [0-9a-f]{32,}
jwt                eyJ                                (?<![_\-]eyJ)%w{8,4096}\.eyJ%w{8,}(?:\.%w*)?
jwe                eyJ                                (?<![_\-]eyJ)%w{8,4096}\.%w{0,1024}\.%w{8,256}\.%w{8,}\.%w{8,}
"""
"""Name of the form, prefixes, what follows one. `<4` behind a prefix: the form begins so many characters before it.

`%a` letters and digits, `%w` these with `_` and `-`, `%h` hex digits, `%s` Base64, `%g` a UUID.
"""

_LETTERS = {
    "%a": "[A-Za-z0-9]",
    "%w": r"[A-Za-z0-9_\-]",
    "%h": "[0-9a-fA-F]",
    "%s": "[A-Za-z0-9+/]",
    "%g": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
}
_GATES = ("_", ".", "-", ":", "/")
_WITHIN_CLASS = lazy_pattern(r"\[[^\]\[]*\]")


@cache
def _compile(form: str) -> re.Pattern[bytes]:
    """Compile a form of the tables when a text first needs it."""

    def inner(match: re.Match[str]) -> str:
        group = match.group()
        for sign in ("%a", "%w"):
            group = group.replace(sign, _LETTERS[sign][1:-1])
        return group

    form = _WITHIN_CLASS.sub(inner, form)
    for sign, letters in _LETTERS.items():
        form = form.replace(sign, letters)
    return re.compile(form.encode())


def _issuer_rows() -> Iterator[tuple[str, bytes, int | None, str]]:
    """Yield each prefix with its mask, where its form begins (None: behind it), and the form."""
    for row in _ISSUERS.strip().splitlines():
        name, *prefixes, form = row.split()
        for prefix in prefixes:
            needle, _, back = prefix.partition("<")
            yield needle, b"[redacted:" + name.encode() + b"]", int(back) if back else None, form


_IssuerRow = tuple[str, bytes, int | None, str]
_BY_GATE: dict[str, dict[str, list[_IssuerRow]]] = {}
"""The rows by a character that all their prefixes share, and by the two in front of it (empty: there are none): one
look for it spares the search for each, and where it stands in a text, few are left."""
for _row in _issuer_rows():
    _gate = next((sign for sign in _GATES if sign in _row[0]), _row[0])
    _before = _row[0].partition(_gate)[0]
    _BY_GATE.setdefault(_gate, {}).setdefault(_before[-2:] if len(_before) > 1 else "", []).append(_row)

_RUN_SHAPE = bytes.maketrans(
    bytes(range(256)), bytes(120 if (chr(n).isalnum() and n < 128) or n in b"_-." else 32 for n in range(256))
)
"""Each character of a run becomes `x`, every other one a blank: two scans in C find the runs."""

_BEFORE_RUN = 48
"""Characters before a run in which its prefix may stand: `1//0`, `access_token$production$`."""

_DISCORD = lazy_pattern(rb"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}(?![A-Za-z0-9_\-])")
"""A bot's token has no prefix, but a form of its own."""

_ESCAPE_BEFORE = lazy_pattern(rb"(?:\\[bfnrt]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\[[0-9;]{1,8}m)\Z")
"""What ends with a letter and belongs to no word: an escaped line break, a colour of a terminal."""


def _starts_word(body: bytes, start: int) -> bool:
    if start == 0 or not body[start - 1 : start].isalnum() or not body[start : start + 1].isalnum():
        return True
    return _ESCAPE_BEFORE.search(body[max(0, start - 12) : start]) is not None


def _find_issuers(body: bytes) -> Iterator[_Span]:
    """Find tokens by their issuers' prefixes."""
    shape = body.translate(_RUN_SHAPE)
    wanted = b"x" * _RUN
    runs = []
    start = shape.find(wanted)
    while start >= 0:
        end = shape.find(b" ", start)
        end = len(body) if end < 0 else end
        runs.append(body[max(0, start - _BEFORE_RUN) : end + 4])
        if end - start >= 58:
            first = start + (body[start - 1 : start] == b"\\")  # the letter of an escaped line break
            if match := _DISCORD.match(body, first):
                yield first, match.end(), b"[redacted:discord-token]"
        start = shape.find(wanted, end)
    if not runs:
        return
    joined = b"\n".join(runs).decode("latin-1")
    for gate, rows in _BY_GATE.items():
        if gate in joined:
            pairs = {piece[-2:] for piece in joined.split(gate)[:-1]}
            for row in chain.from_iterable(rows[pair] for pair in ("", *pairs) if pair in rows):
                if row[0] in joined:
                    yield from _find_prefixed(body, *row)


def _find_prefixed(body: bytes, issuer_prefix: str, mask: bytes, back: int | None, form: str) -> Iterator[_Span]:
    match_form = _compile(form).match
    prefix = issuer_prefix.encode()
    place = body.find(prefix)
    while place >= 0:
        start = place if back is None else max(place - back, 0)
        match = match_form(body, place + len(prefix) if back is None else start)
        if match and _starts_word(body, start):
            yield start, match.end(), mask
            place = match.end() - 1
        place = body.find(prefix, place + 1)


_PEM_END = rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = lazy_pattern(
    rb"-----BEGIN" + _PEM_END + rb"(?=[^\"]{0,400}?(?:[A-Za-z0-9+/]{24}|-----END))"
    rb"(?:(?!-----END)(?:[^\"\\]|\\+[nrt/]))*(?:-----END" + _PEM_END + rb")?"
)

# -- places ----------------------------------------------------------------------------------------------------------

_WORD = r"(?:\\+\"|')?(?P<plain>(?:[^\s\"'\\]|\\\\(?=[^\\\"nrtu'])){3,200})"

_COMMANDS: dict[str, str] = {
    "curl": r"(?:-[a-zA-Z]{0,5}[uU]|--user|--proxy-user)[ =]{0,3}(?:\\+\"|')?[^\s:\"'\\]{1,64}:" + _WORD,
    "mysql": r"-p(?![ \-])" + _WORD,
    "mariadb": r"-p(?![ \-])" + _WORD,
    "sshpass": r"-p[ ]?" + _WORD,
    "login": r"(?:-p|--password)[ =]{1,3}" + _WORD,
    "redis-cli": r"-a[ ]" + _WORD,
    "openssl": r"-pass(?:in|out)?[ ]pass:" + _WORD,
}
"""Commands that take a secret as an argument, and the form of it from its flag on."""

_COMMAND_CHARS = 300
_COMMAND_ENDS = lazy_pattern(rb"[;|&]|(?<!\\)\\n")

_MIXED = r"(?=[A-Za-z._~+/\-]{0,80}[0-9])(?=[0-9._~+/\-a-z]{0,80}[A-Z])"
_QUERY_KEYS = ("sig", "code", "key", "signature")
_SPACE = r"(?:\s|\\[nrt]){1,8}"

_PLACES: tuple[tuple[str, str, str], ...] = (
    (
        "login",
        "login",
        r"(?:"
        + _SPACE
        + r"[^\s\"\\]{1,100}"
        + _SPACE
        + "password"
        + _SPACE
        + _WORD
        + r"|[ ]{1,3}(?P<key>[0-9a-f]{40})(?![0-9A-Za-z]))",
    ),
    (":543", ":543", r"[0-9]:[^\s:\"\\]{1,64}:[^\s:\"\\]{1,64}:" + _WORD),
    (
        "@",
        "://",
        (
            r"(?:[^\s:/@\"'\\?#]{0,64}:(?P<plain>[^\s/@\"'\\?#]{3,256})"
            r"|(?P<key>(?=[^\s:/@\"'\\?#]{0,80}[0-9])[A-Za-z0-9_\-.~]{20,256}))(?=@)"
        ),
    ),
    (
        "hook",
        "hook",
        (
            r"(?:s\.slack\.com/[a-z]{5,12}/(?P<slack>(?=[A-Za-z/]{0,60}[0-9])[A-Za-z0-9/+]{32,})"
            r"|s/[0-9]{16,20}/(?P<discord>[A-Za-z0-9_\-]{50,})|/(?P<teams>[0-9a-f]{32}[0-9a-zA-Z/\-]{0,80}))"
        ),
    ),
    *(("=", f"{sign}{name}=", r"(?P<plain>[A-Za-z0-9%+/_.\-]{20,}={0,2})") for sign in "?&" for name in _QUERY_KEYS),
    ("bearer ", "bearer ", r"(?P<plain>" + _MIXED + r"[A-Za-z0-9._~+/\-]{16,}={0,2})"),
    (
        "basic ",
        "basic ",
        r"(?P<plain>" + _MIXED + r"(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2,3}={1,2})?)(?![A-Za-z0-9+/=])",
    ),
)
"""Places where a secret stands: a part that is found faster, what precedes (in small letters), the form behind it."""

# -- values behind a name --------------------------------------------------------------------------------------------

_NAMES: dict[str, str] = {
    "pass": r"pass(?:w(?:or)?d|wd|phrase|code)(?:[_\-]?(?:[0-9]{1,2}|value|text|plain|prod|dev|test))?",
    "pwd": "pwd",
    "secret": r"secret(?:[_\-]?(?:access|key|token|value|base|text|hash)){0,3}",
    "token": r"token(?:[_\-]?(?:secret|value|key))?",
    "key": r"key(?:[_\-]?(?:secret|value|base64|data|material))?",
    "auth": "auth(?:orization)?",
    "credential": "credentials?",
    "hook": r"hook(?:[_\-]?url)?",
}
"""What the name of a secret ends with. Names with `pass` and `pwd` are chosen by people: any value is taken for one.
The others are made by machines: a value counts when it looks random."""

_OWNERS = tuple(
    word.encode()
    for words in (
        "api access private account encryption signing master secret admin shared service license licence deploy",
        "write auth app application consumer storage server ssh hmac host session project client cipher crypto",
        "refresh bearer bot personal user",
    )
    for word in words.split()
)
"""What stands before `key` and `token` in names of secrets: `access_key`, but not `primary_key`."""

_HARMLESS_OWNERS = (b"next", b"change", b"lock", b"page", b"continuation", b"starting", b"cursor", b"forward")
"""What stands before `token` where a service means a place in a list."""

_SIGN = lazy_pattern(
    rb"(?:\*\*)?(?:\\*'|\\+\"|`)?(?:\\t| ){0,16}(?P<sign>=>|:=|=(?![=~])|:(?![:/=])|>(?=[^<\"\\]{3,256}</))"
    rb"(?:\*\*)?(?:\\t| ){0,16}"
)
_QUOTED = lazy_pattern(
    rb"\\+\"(?P<double>(?:[^\"\\]|\\\\(?=[^\\\"])){3,256})(?=\\+\")"
    rb"|'(?P<single>[^'\"\\]{3,256})(?=\\*')|`(?P<tick>[^`\"\\]{3,256})(?=`)"
)
_STOPS = rb"|,(?=[^\s\"'\\])|&(?![A-Za-z_][\w.\-]{0,40}=)(?=[^\s\"\\])|\\\\(?=[^\\\"nrtu'])"
_PLAIN = lazy_pattern(rb"(?:[^\s\"'`\\,;)}\]\[<>&]+" + _STOPS + rb")+")
_PLAIN_IN_FILE = lazy_pattern(rb"(?:[^\s\"'`\\;&,]+|;(?![A-Za-z_ ]{1,30}=)(?=[^\s\"\\])" + _STOPS + rb")+")
_PLAIN_IN_TAGS = lazy_pattern(rb"[^<\"\\]{3,}")
_VALUE_CHARS = 300
"""Characters of a value that are looked at; a secret that is longer goes whole."""
_WEAK = lazy_pattern(
    rb"(?:\\+\"|'|`)?(?i:(?:bearer|basic|token|bot) )?"
    rb"(?P<plain>(?=[A-Za-z._~+/%\-]{0,80}[0-9])(?=[0-9._~+/%\-]{0,80}[A-Za-z])[A-Za-z0-9._~+/%\-]{16,}={0,2})"
)
_AFTER_FLAG = lazy_pattern(
    rb"[ ]{1,3}(?:'|\\+\")?(?P<plain>(?=[^\s\"'\\0-9]{0,80}[0-9])[^\s\"'\\\-$][^\s\"'\\]{5,200})"
)
_AFTER_IS = lazy_pattern(
    rb"[ ](?:is|was)[ ](?:\\*[\"'`])?(?P<plain>(?=[^\s\"'\\0-9]{0,80}[0-9])[^\s\"'`\\,;)]{6,200})"
)
_AFTER_BLANK = lazy_pattern(
    rb"[ ](?:'|\\+\")?(?P<plain>(?=[A-Za-z+/_\-]{0,80}[0-9])(?=[0-9A-Z+/_\-]{0,80}[a-z])(?=[0-9a-z+/_\-]{0,80}[A-Z])"
    rb"[A-Za-z0-9+/_\-]{20,256}={0,2})(?![A-Za-z0-9.(])"
)

_NO_SECRET = lazy_pattern(
    rb"(?i)(?:[*x.\-#?_]+|(?:\xe2\x80[\xa2\xa6])+|[$%{<(!?].*|=.*"
    rb"|(?:process\.env|import\.meta|os\.environ|os\.getenv|getenv|env)\b.*"
    rb"|\[?(?:redacted|hidden|masked|filtered|secret)\b.*"
    rb"|(?:your|my|change|replace|insert|enter|put|todo|example|placeholder|dummy)"
    rb"(?:[_\-. ]?(?:me|own|api|key|token|secret|password|here|value|this|it|with|please))*"
    rb"|(?:true|false|none|null|nil|undefined|required|optional|string|str|bytes|boolean|bool|number|integer|int|text"
    rb"|varchar|secretstr|any|unknown|missing|invalid|changed|expired|empty|hidden|field|hash|hashed|encrypted|plain"
    rb"|never|always|not|no|yes|ok|okay|off|on|must|should|may|can|see|same|reset|incorrect|correct|wrong|valid)"
    rb"[.!?:,]?)"
)
"""Values that are none: masks, variables, types, states, and words that stand for a value."""

_ALGORITHM = lazy_pattern(
    rb"(?i)(?:argon2(?:id|i|d)?|b?s?crypt|pbkdf2|sha-?[0-9]{1,3}|md5|ed25519|x25519|rsa|ecdsa|[hrep]s[0-9]{3}|aes|hmac"
    rb"|base64|hex|utf-?8|oauth2?|jwt|oidc|v[0-9]{1,2}|[0-9]{1,6})(?:[\-_/.+ ][A-Za-z0-9]{1,9}){0,3}[.,]?"
)
_CODE = lazy_pattern(
    rb"[A-Za-z_$][\w$]*(?:[?!]?\.[A-Za-z_$][\w$]*)*[(\[].*"  # a call, an index
    rb"|[A-Za-z_$]+(?:[?!]?\.[A-Za-z_$]+)+[?]?"  # an attribute
    rb"|[a-z]+(?:[A-Z][a-z]+)+"  # a variable
    rb"|[A-Za-z]*_(?:[A-Za-z]+_)*(?:password|passwd|secret|token|key)|(?:new|old|user)_[a-z_]+"
)
_IDENTIFIER = lazy_pattern(rb"[A-Za-z_$][A-Za-z_$.]*")
_PROMPT = lazy_pattern(rb"(?i)passw|kennwort|please|enter|your|must|required|forgot|confirm")
_ORDINARY_NAME = lazy_pattern(rb"[A-Za-z]+(?:[\-_.:][A-Za-z]+|[\-_.:][0-9]{1,4})*|(?:~|\.{0,2})/[a-z0-9_./\-]+")
"""Words joined by dashes, as names of things are, and paths."""
_RANDOM = lazy_pattern(rb"(?=[^0-9]{0,120}[0-9])(?=[^A-Za-z]{0,120}[A-Za-z])\S{6,}|[A-Za-z]{20,}")


def replace_secrets(body: bytes) -> bytes:
    """Return `body` with every known form of a secret replaced by `[redacted:NAME]`.

    The same object where none is.
    """
    text, gaps = _without_invisible(body)
    spans = sorted((*_find_issuers(text), *_find_keys(text), *_find_values(text)))
    if not spans:
        return body
    pieces: list[bytes] = []
    done = 0
    for start, end, mask in _merged(spans):
        start, end = _position(start, gaps), _position(end - 1, gaps) + 1
        pieces += (body[done:start], mask)
        done = end
    clean = b"".join((*pieces, body[done:]))
    return body if clean == body else clean


def without_secrets(text: str) -> str:
    """Return a text without known forms of secrets, as the log would have it; lone surrogates are written out."""
    body = msgspec.json.encode(text.encode("utf-8", "backslashreplace").decode())
    clean = replace_secrets(body)
    return text if clean is body else msgspec.json.decode(clean, type=str)


_INVISIBLE = lazy_pattern(
    rb"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad|\xcd\x8f|\xef\xb8[\x80-\x8f]"
    rb"|\xe1\xa0\x8e|\xe1\x85[\x9f\xa0]|\xe3\x85\xa4|\xef\xbe\xa0|\xe2\xa0\x80|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
"""Characters that take no room or show nothing, in UTF-8: zero-width, direction, variation, tags, fillers."""


def _without_invisible(body: bytes) -> tuple[bytes, tuple[tuple[int, int], ...]]:
    """Return the text without invisible characters, and for each gap where it is there and how much was left out."""
    matches = () if body.isascii() else tuple(_INVISIBLE.finditer(body))
    if not matches:
        return body, ()
    lengths = list(accumulate(len(match.group()) for match in matches))
    starts = (match.start() - before for match, before in zip(matches, (0, *lengths), strict=False))
    return _INVISIBLE.sub(b"", body), tuple(zip(starts, lengths, strict=True))


def _position(shortened: int, gaps: tuple[tuple[int, int], ...]) -> int:
    """Return where a byte of the shortened text stands in the whole one."""
    behind = bisect_right(gaps, shortened, key=lambda gap: gap[0])
    return shortened + (gaps[behind - 1][1] if behind else 0)


def _merged(spans: list[_Span]) -> Iterator[_Span]:
    """Join what overlaps; the mask is that of the first."""
    start, end, mask = spans[0]
    for other_start, other_end, other_mask in spans[1:]:
        if other_start < end:
            end = max(end, other_end)
        else:
            yield start, end, mask
            start, end, mask = other_start, other_end, other_mask
    yield start, end, mask


def _find_keys(body: bytes) -> Iterator[_Span]:
    """Find private keys in PEM: from the first line to the last, or to the end of the text."""
    start = body.find(b"-----BEGIN ")
    while start >= 0:
        match = _PRIVATE_KEY.match(body, start)
        if match:
            yield start, match.end(), b"[redacted:private-key]"
        start = body.find(b"-----BEGIN ", match.end() if match else start + 1)


_SECRET = b"[redacted:secret]"


def _find_values(body: bytes) -> Iterator[_Span]:
    """Find secrets by where they stand, and by the names that they are assigned to."""
    low = body.lower()
    text = low.decode("latin-1")  # one character per byte; short substrings are found faster in it
    if " -" in text:
        for command, form in _COMMANDS.items():
            for place in _places_of(command, text):
                yield from _find_argument(body, place + len(command), form)
    for gate, needle, form in _PLACES:
        if gate in text:
            for place in _places_of(needle, text):
                match = _compile(form).match(body, place + len(needle))
                if match and not _NO_SECRET.fullmatch(match[match.lastgroup or 0]):
                    mask = b"[redacted:url-password]" if needle == "://" else _SECRET
                    yield *match.span(match.lastgroup or 0), mask
    for needle, form in _NAMES.items():
        place = text.find(needle)
        while place >= 0:
            name = _compile(form).match(low, place)
            span = _value_behind(body, name, needle) if name else None
            if span is not None:
                yield *span, _SECRET
            place = text.find(needle, span[1] if span else place + len(needle))


def _places_of(needle: str, text: str) -> Iterator[int]:
    place = text.find(needle)
    while place >= 0:
        yield place
        place = text.find(needle, place + len(needle))


def _find_argument(body: bytes, start: int, form: str) -> Iterator[_Span]:
    """Find the secret among the arguments of a command whose name ends at `start`."""
    flag = body.find(b" -", start, start + _COMMAND_CHARS)
    while flag >= 0:
        match = _compile(form).match(body, flag + 1)
        if match:
            if not _COMMAND_ENDS.search(body, start, flag) and not _NO_SECRET.fullmatch(match["plain"]):
                yield *match.span("plain"), _SECRET
            return
        flag = body.find(b" -", flag + 1, start + _COMMAND_CHARS)


def _value_behind(body: bytes, name: re.Match[bytes], needle: str) -> tuple[int, int] | None:
    """Return where the value is that is assigned to a name, if it may be a secret. `name` ends as the name does."""
    sign = _SIGN.match(body, name.end())
    if sign is None:
        return _value_after_blank(body, name, needle) if body[name.end() : name.end() + 1] == b" " else None
    before = name.string[max(0, name.start() - 16) : name.start()]
    if before.endswith((b"/", b":")) and sign["sign"] == b":":
        return None  # a part of a path or of a name: /etc/passwd:root, arn:…:secret:name
    if needle in ("pass", "pwd"):
        return _password_behind(body, name, sign)
    owned = needle == "secret" or before.rstrip(b"_-").endswith(_OWNERS)
    if (needle == "auth" and before[-1:].isalpha()) or (needle == "hook" and not before.endswith(b"web")):
        return None
    if not owned:
        # `SEARCH_KEY=` in a file of settings may hold one, `key:` hardly ever.
        setting = before.endswith(b"_") and body[name.start() : name.end()].isupper()
        may_hold_one = setting if needle == "key" else not before.rstrip(b"_-").endswith(_HARMLESS_OWNERS)
        weak = _WEAK.match(body, sign.end()) if may_hold_one else None
        return weak.span("plain") if weak else None
    quoted = _QUOTED.match(body, sign.end())
    plain = quoted or _plain_value(body, name, sign)
    if plain is None:
        return None
    value = plain[plain.lastgroup or 0]
    if _NO_SECRET.fullmatch(value) or not _RANDOM.fullmatch(value):
        return None
    if len(value) < 20 and (_ALGORITHM.fullmatch(value) or _ORDINARY_NAME.fullmatch(value)):
        return None
    if not quoted and _is_code(value, body, plain.end()):
        return None
    return plain.span(plain.lastgroup or 0)


def _plain_value(body: bytes, name: re.Match[bytes], sign: re.Match[bytes]) -> re.Match[bytes] | None:
    """Return the value without quotes behind a sign: up to what ends it in a tag, in a file of settings, in code."""
    setting = sign["sign"] == b"=" and body[name.start() : name.end()].isupper()
    form = _PLAIN_IN_TAGS if sign["sign"] == b">" else _PLAIN_IN_FILE if setting else _PLAIN
    plain = form.match(body, sign.end(), sign.end() + _VALUE_CHARS)
    if plain is None or plain.end() - plain.start() < 3:
        return None
    return plain if plain.end() < sign.end() + _VALUE_CHARS else form.match(body, sign.end())


def _password_behind(body: bytes, name: re.Match[bytes], sign: re.Match[bytes]) -> tuple[int, int] | None:
    """Return where a password is that people chose: any value that is not surely something else."""
    quoted = _QUOTED.match(body, sign.end())
    plain = quoted or _plain_value(body, name, sign)
    if plain is None:
        return None
    kind = plain.lastgroup or 0
    value = plain[kind]
    if value[:1].isspace() or _NO_SECRET.fullmatch(value) or value.lower() == name.group():
        return None
    if quoted:
        return None if b" " in value and _PROMPT.search(value) else plain.span(kind)
    if _ALGORITHM.fullmatch(value) or _is_code(value, body, plain.end()):
        return None
    # `PWD=/home/...` is the working directory of a shell.
    if name.group() == b"pwd" and value[:1] in b"/~.":
        return None
    # "password: required reading" is prose; "password=required" is not, and neither is a value with a digit in it.
    prose = value.rstrip(b".!?,").isalpha() and re.match(rb"[ ][A-Za-z0-9(]", body[plain.end() : plain.end() + 2])
    return None if prose and sign["sign"] == b":" else plain.span(kind)


def _value_after_blank(body: bytes, name: re.Match[bytes], needle: str) -> tuple[int, int] | None:
    """Return where a secret is that follows its name without a sign: behind a flag, behind `is`, or by its looks."""
    before = name.string[max(0, name.start() - 24) : name.start()]
    flag = re.search(rb"--[a-z\-]{0,20}\Z", before)
    owned = needle != "key" or before.rstrip(b"_-").endswith(_OWNERS)
    match = _AFTER_FLAG.match(body, name.end()) if flag and owned else None
    if match is None and needle != "key":
        is_said = needle in ("pass", "pwd") or needle == "secret"
        match = (_AFTER_IS.match(body, name.end()) if is_said else None) or _AFTER_BLANK.match(body, name.end())
    if match is None or _NO_SECRET.fullmatch(match["plain"]) or _ALGORITHM.fullmatch(match["plain"]):
        return None
    return match.span("plain")


def _is_code(value: bytes, body: bytes, end: int) -> bool:
    """Whether a value without quotes is an expression: a call, an index, an attribute, a variable."""
    behind = body[end : end + 2]
    called = behind[:1] in (b"[", b"(") or behind == b", "
    return _CODE.fullmatch(value) is not None or (called and _IDENTIFIER.fullmatch(value) is not None)
