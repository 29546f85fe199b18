"""What later words end: what is over, dropped, allowed, turned down; and what they leave as it is."""

from __future__ import annotations

import pytest

from hudkit.ingest.extraction import find_closed_files
from told_talks import AGENT, standing, state_after


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Never deploy on Mondays.", "Mondays are fine again."),
        ("No merges to main before the audit.", "Merging to main is allowed from now on."),
        ("Always ask me before you rename a table.", "You don't have to ask about renaming tables, I trust you."),
        ("Wait for my go-ahead before merging.", "From here on you can merge without my go-ahead."),
        ("Don't touch the checkout module.", "The checkout module is fair game now."),
        ("Please leave the header alone.", "Actually do update the header, the name is wrong."),
        ("We chose Mailgun.", "Mailgun fell through, procurement said no."),
        ("Let's use Redux for the state.", "We got rid of Redux last week."),
        ("The voucher AUTUMN15 is valid until May 3.", "AUTUMN15 has ended."),
        ("The next step is the invoice form.", "The invoice form is finished."),
        ("Let's keep the monolith.", "I slept on it: I'd rather not."),
    ],
)
def test_what_a_sentence_ends_does_not_stand(first: str, then: str) -> None:
    before = standing(state_after(first))
    assert before and not set(before) & set(standing(state_after(first, then)))


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        ("Let's host it on Heroku.", "Heroku raised its prices, use Render.", "Render"),
        ("Let's store the images in S3.", "S3 is too slow. Put them on a disk.", "on a disk"),
        ("Answer in German please.", "Back to English, please.", "English"),
        ("I prefer tabs.", "The team convinced me, spaces.", "spaces"),
    ],
)
def test_what_takes_the_place_of_something_is_heard(first: str, then: str, words: str) -> None:
    now = standing(state_after(first, then))
    assert any(words in text for text in now) and first.rstrip(".") not in now


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Never log tokens.", "The login page is slow, can you look?"),
        ("Let's go with the sidebar layout.", "The sidebar flickers when I resize the window."),
        ("Don't deploy on Mondays.", "Can we deploy on Thursday?"),
        ("Always write docstrings.", "Remove the docstring of the helper, it is wrong."),
        ("Never delete rows of the audit table.", "Delete the row with id 4 from the users table."),
        ("The budget is 500 dollars.", "We have spent 120 dollars of it so far."),
        ("We decided on Kafka.", "The Kafka consumer drops messages when it restarts."),
        ("Use metric units.", "How many miles are 10 km?"),
    ],
)
def test_what_only_speaks_of_the_same_thing_ends_nothing(first: str, then: str) -> None:
    before = standing(state_after(first))
    assert before and set(before) <= set(standing(state_after(first, then)))


def test_an_agent_says_that_a_decision_is_over_and_ends_no_rule() -> None:
    state = state_after(
        "Never rename the kiln table.",
        (AGENT, "I decided to use a lock around the kiln writer instead of a queue."),
        (AGENT, "The decision on the kiln writer is withdrawn. The rule about the kiln table is lifted."),
    )
    assert standing(state) == ["Never rename the kiln table"]


def test_words_close_an_edited_file_that_they_name() -> None:
    paths = ("docs/guide/kiln.md", "src/kiln_writer.py", "src/glaze.py")
    assert find_closed_files("The file of glaze is closed for good.", paths) == ("src/glaze.py",)
    assert find_closed_files("kiln.md is finished, nothing more to do there.", paths) == ("docs/guide/kiln.md",)
    # Two have the name; one is not done yet; and a question closes nothing.
    assert not find_closed_files("The kiln file is done.", ("a/kiln.py", "b/kiln.py"))
    assert not find_closed_files("The glaze module is not finished.", paths)
    assert not find_closed_files("Is the glaze module finished?", paths)
