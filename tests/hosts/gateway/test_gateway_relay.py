"""The gateway without a HUD: bytes go to and fro as if it were not there, also where something breaks."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import ssl
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_provider import RESET, Pause, RawProvider, Wait, ask, connect, receive

from campaigns import Campaign
from hudkit.hosts.gateway.http_framing import BodyEnd
from hudkit.hosts.gateway.relay import GatewayThread

REQUESTS = Campaign("gateway", quick=150, full=1_000)

PATHS = (
    "/v1/chat/completions", "/v1/responses", "/v1/messages?beta=true", "/v1/messages/count_tokens", "/v1/models",
    "/v1/embeddings", "/v1/files/a%20b", "/openai/deployments/x/chat/completions?api-version=1", "/", "/nothing",
)  # fmt: skip


@REQUESTS
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_thousand_random_requests_and_answers_pass_byte_for_byte(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = None
    if scheme == "https":
        tls, certificate = with_certificate(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    answers: dict[bytes, bytes] = {}

    def answer(request: bytes) -> list[bytes]:
        chance = random.Random(sha256(request).digest())
        whole = random_answer(chance, request)
        answers[sha256(request).digest()] = whole
        return [*pieces(chance, whole), *([b""] if b"Connection: close" in whole else [])]

    chance = REQUESTS.chance(20261126)
    with RawProvider(answer, tls=tls) as provider:
        url = provider.url if tls is None else provider.url.replace("http://127.0.0.1", "https://localhost")
        _pass_all(chance, provider, url, answers)


def _pass_all(chance: random.Random, provider: RawProvider, url: str, answers: dict[bytes, bytes]) -> None:
    with GatewayThread(url) as gateway:
        connection = connect(gateway.url)
        for _ in range(REQUESTS.rounds):
            request = random_request(chance, gateway.url)
            expected = request.replace(_host(gateway.url), _host(url), 1)
            for piece in pieces(chance, request):
                connection.sendall(piece)
            # The provider's bytes are known once it has the request.
            first = receive(connection, 1)
            whole = answers[sha256(provider.requests[-1]).digest()]
            back = first + receive(connection, len(whole) - 1)
            assert sha256(provider.requests[-1]).digest() == sha256(expected).digest()
            assert sha256(back).digest() == sha256(whole).digest()
            if b"Connection: close" in whole:
                assert connection.recv(1) == b"", "an end is an end"
                connection = connect(gateway.url)


def _host(url: str) -> bytes:
    return b"Host: " + url.partition("://")[2].encode()


def random_request(chance: random.Random, url: str) -> bytes:
    method = chance.choice(("POST", "POST", "POST", "GET", "DELETE", "PUT", "PATCH"))
    body = b"" if method == "GET" else random_body(chance)
    lines = [f"{method} {chance.choice(PATHS)} HTTP/1.1".encode(), _host(url)]
    extra = [
        b"X-Api-Key: sk-ant-%d" % chance.randrange(10**9), b"authorization: Bearer sk-proj-x", b"Accept: */*",
        b"anthropic-beta: a,b", b"User-Agent: claude-cli/2.1 (x)", b"X-EMPTY:", b"x-twice: 1", b"X-Twice:   2",
        b"accept-encoding: gzip, br, zstd",
    ]  # fmt: skip
    lines += chance.sample(extra, chance.randrange(len(extra)))
    if chance.random() < 0.3 and body:
        return _head([*lines, b"Transfer-Encoding: chunked"]) + chunked(chance, body)
    if body or method != "GET":
        lines.append(b"Content-Length: %d" % len(body))
    return _head(lines) + body


def random_answer(chance: random.Random, request: bytes) -> bytes:
    status = chance.choice((b"200 OK", b"200 OK", b"201 Created", b"204 No Content", b"400 Bad Request",
                            b"401 Unauthorized", b"429 Too Many Requests", b"500 Oh", b"529 Overloaded"))  # fmt: skip
    lines = [b"HTTP/1.1 " + status, b"Date: Thu, 26 Nov 2026 01:00:00 GMT", b"CF-Ray: %x" % chance.randrange(2**60)]
    if status[:3] in (b"429", b"529", b"200"):
        lines += [
            b"anthropic-ratelimit-unified-5h-remaining: 3", b"retry-after: 7", b"x-should-retry: true",
            b"Set-Cookie: a=b", b"Set-Cookie: c=d", b"request-id: req_1",
        ]  # fmt: skip
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" if chance.random() < 0.05 else b""
    if status[:3] == b"204":
        return early + _head(lines)
    body = random_body(chance)
    if chance.random() < 0.3:
        body = gzip.compress(body)
        lines.append(b"Content-Encoding: gzip")
    kind = chance.random()
    if kind < 0.45:
        return early + _head([*lines, b"Transfer-Encoding: chunked"]) + chunked(chance, body)
    if kind < 0.55:
        return early + _head([*lines, b"Connection: close"]) + body
    return early + _head([*lines, b"content-length: %d" % len(body)]) + body


def random_body(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.2:
        return chance.randbytes(chance.randrange(3_000))
    if kind < 0.25:
        return chance.randbytes(300_000)
    if kind < 0.5:
        events = (json.dumps({"delta": "é" * chance.randrange(20), "n": n}) for n in range(chance.randrange(60)))
        return "".join(f"event: x\ndata: {event}\n\n" for event in events).encode()
    text = "".join(chance.choice(("\\u00e9", "ü", " ", "\\n", "0\\r\\n\\r\\n", "x")) for _ in range(200))
    gap = " " * chance.randrange(4)
    return f'{{"model":{gap}"m", "stream": true,"messages" : [ {{"role":"user","content":"{text}"}} ]}}'.encode()


def chunked(chance: random.Random, body: bytes) -> bytes:
    out = b""
    for piece in pieces(chance, body):
        extension = b";a=b" if chance.random() < 0.1 else b""
        out += b"%x%b\r\n%b\r\n" % (len(piece), extension, piece)
    return out + b"0\r\n\r\n"


def pieces(chance: random.Random, whole: bytes) -> list[bytes]:
    most = chance.choice((7, 50, 1_000, 70_000))
    if len(whole) > 200 * most:
        most = 70_000
    out = []
    while whole:
        size = chance.randrange(1, most)
        out.append(whole[:size])
        whole = whole[size:]
    return out


def _head(lines: list[bytes]) -> bytes:
    return b"\r\n".join(lines) + b"\r\n\r\n"


@given(body=st.binary(max_size=200), cuts=st.lists(st.integers(0, 400), max_size=12), seed=st.integers(0, 99))
def test_a_chunked_body_ends_where_it_ends(body: bytes, cuts: list[int], seed: int) -> None:
    whole = chunked(random.Random(seed), body)
    stream, end, out, used = whole + b"HTTP/1.1 200 OK", BodyEnd("chunked"), b"", 0
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for start, stop in pairwise(edges):
        if end.is_over:
            break
        taken, part = end.feed(stream[start:stop])
        out, used = out + part, used + taken
    assert end.is_over and out == body and used == len(whole)


# -- streams ---------------------------------------------------------------------------------------------------

POST = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_stream_is_never_held_back() -> None:
    """Each event reaches the client before the provider writes the next one."""
    steps = [Event() for _ in range(20)]
    events = [b"10\r\nevent: x\ndata%03d\r\n" % n for n in range(20)]
    answer = [STREAM, *(piece for step, event in zip(steps, events, strict=True) for piece in (Pause(step), event))]
    with RawProvider(lambda _: [*answer, b"0\r\n\r\n"]) as provider, GatewayThread(provider.url) as gateway:
        connection = connect(gateway.url)
        assert ask(connection, POST, len(STREAM)) == STREAM, "the head comes before the first event"
        for step, event in zip(steps, events, strict=True):
            step.set()
            assert receive(connection, len(event)) == event
        assert receive(connection, 5) == b"0\r\n\r\n"


@pytest.mark.slow
def test_a_request_is_passed_on_while_it_comes() -> None:
    answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
    with RawProvider(lambda _: [answer]) as provider, GatewayThread(provider.url) as gateway:
        connection = connect(gateway.url)
        connection.sendall(b"PUT /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n")
        for _ in range(100):
            connection.sendall(b"x" * 100_000)
        assert receive(connection, len(answer)) == answer
        assert len(provider.requests[0]) > 10_000_000


@pytest.mark.slow
def test_two_hundred_streams_at_once_lose_no_byte() -> None:
    def answer(request: bytes) -> list[bytes]:
        chance = random.Random(request.split(b"X-N: ")[1].split(b"\r\n")[0])
        return [STREAM, *(b"%x\r\n%b\r\n" % (len(data), data) for data in stream_of(chance)), b"0\r\n\r\n"]

    def stream_of(chance: random.Random) -> list[bytes]:
        return [b"data: %d\n\n" % chance.randrange(10**40) for _ in range(100)]

    def client(number: int) -> bool:
        request = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-N: %d\r\nContent-Length: 2\r\n\r\n{}" % number
        data = stream_of(random.Random(b"%d" % number))
        expected = STREAM + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in data) + b"0\r\n\r\n"
        with connect(gateway.url) as connection:
            return ask(connection, request, len(expected)) == expected

    with RawProvider(answer) as provider, GatewayThread(provider.url) as gateway, ThreadPoolExecutor(200) as threads:
        assert all(threads.map(client, range(200)))


# -- faults ----------------------------------------------------------------------------------------------------


def test_half_a_stream_ends_as_the_provider_ended_it() -> None:
    piece = b"5\r\ndata:\r\n"
    for last in (b"", RESET):
        with (
            RawProvider(lambda _, last=last: [STREAM, piece, last]) as provider,
            GatewayThread(provider.url) as gateway,
        ):
            connection = connect(gateway.url)
            got = b""
            try:
                got = ask(connection, POST, 10_000)
                is_reset = False
            except ConnectionResetError:
                is_reset = True
            assert is_reset == (last is RESET)
            assert is_reset or got == STREAM + piece, "what came before the end is there"


def test_a_connection_that_ends_without_an_answer_ends_without_one() -> None:
    with RawProvider(lambda _: [b""]) as provider, GatewayThread(provider.url) as gateway:
        assert ask(connect(gateway.url), POST, 100) == b""


def test_a_provider_that_is_not_there_is_a_connection_that_breaks() -> None:
    with RawProvider(lambda _: []) as provider:
        url = provider.url
    with GatewayThread(url) as gateway, pytest.raises(ConnectionError):
        ask(connect(gateway.url), POST, 100)


def test_a_slow_provider_is_waited_for_and_a_client_that_gives_up_is_felt_there() -> None:
    with RawProvider(lambda _: [Wait()]) as provider, GatewayThread(provider.url) as gateway:
        connection = connect(gateway.url)
        connection.sendall(POST)
        connection.close()
        assert provider.gone.wait(30), "the provider may stop"


@pytest.mark.slow
def test_a_body_of_ten_megabytes_and_one_that_is_compressed_pass() -> None:
    for body in (b'{"messages":"%b"}' % (b"x" * 10_000_000), zlib.compress(b"x" * 1_000)):
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        with RawProvider(lambda _, answer=answer: [answer]) as provider, GatewayThread(provider.url) as gateway:
            request = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            assert ask(connect(gateway.url), request, len(answer)) == answer
            assert provider.requests[0].endswith(body)


def test_what_is_no_http_at_all_is_passed_on_or_refused() -> None:
    with RawProvider(lambda _: [b"SSH-2.0-x\r\n\r\nhello", b""]) as provider, GatewayThread(provider.url) as gateway:
        assert ask(connect(gateway.url), POST, 100) == b"SSH-2.0-x\r\n\r\nhello"
        assert ask(connect(gateway.url), b"\x16\x03\x01 nonsense\r\n\r\n", 100) == b""
        smuggled = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ask(connect(gateway.url), smuggled, 100)
        assert len(provider.requests) == 1, "nobody can smuggle a request past us"


# -- websockets and the rest -----------------------------------------------------------------------------------


def test_a_websocket_passes_both_ways() -> None:
    upgrade = b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    seen = b"\x81\x85abcdhello"

    def answer(request: bytes) -> list[bytes | Pause]:
        return [switched + b"\x81\x02hi"] if request.startswith(b"GET") else [request.replace(b"POST", b"\x81")]

    with RawProvider(answer) as provider, GatewayThread(provider.url) as gateway:
        connection = connect(gateway.url)
        assert ask(connection, upgrade, len(switched) + 4) == switched + b"\x81\x02hi"
        # Frames are any bytes: these the provider can read as a message, with a frame among them.
        frame = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(seen), seen)
        assert ask(connection, frame, len(frame) - 3) == frame.replace(b"POST", b"\x81")
        assert provider.requests[1] == frame, "nothing of it was read as a request"


def test_nobody_gets_through_it_to_another_address() -> None:
    with RawProvider(lambda _: []) as provider, GatewayThread(provider.url) as gateway:
        back = ask(connect(gateway.url), b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", 30)
        assert back.startswith(b"HTTP/1.1 405 ") and not provider.requests


def test_a_path_of_the_upstream_stands_before_that_of_a_request() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with RawProvider(lambda _: [answer]) as provider, GatewayThread(f"{provider.url}/api/") as gateway:
        ask(connect(gateway.url), POST, len(answer))
        assert provider.requests[0].startswith(b"POST /api/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:")


@pytest.mark.slow
def test_a_provider_behind_tls_is_reached_and_one_that_nobody_vouches_for_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    tls, certificate = with_certificate(tmp_path)
    with RawProvider(lambda _: [answer], tls=tls) as provider:
        url = provider.url.replace("http://127.0.0.1", "https://localhost")
        with GatewayThread(url) as gateway, pytest.raises(ConnectionError):
            ask(connect(gateway.url), POST, len(answer))
        assert not provider.requests
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with GatewayThread(url) as gateway:
            connection = connect(gateway.url)
            assert [ask(connection, POST, len(answer)) for _ in range(3)] == [answer] * 3
        assert provider.requests[0] == POST.replace(b"Host: x", b"Host: " + url.removeprefix("https://").encode())


def with_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """TLS for a server at `localhost`, and the certificate by which it is trusted."""
    if shutil.which("openssl") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("openssl makes the certificate, and is not here")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names)
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls, certificate
