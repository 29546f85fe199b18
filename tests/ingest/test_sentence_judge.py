"""What a model that judges sentences adds to what the rules hear, with one that is told what to say."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.ingest.extraction import Extracted, KnownStatements, extract
from hudkit.ingest.extraction.sentence_judge import Judged
from hudkit.testing import ScriptedJudge


def heard(message: str, judge: ScriptedJudge | None, standing: KnownStatements | None = None) -> Extracted:
    return extract(message, standing or KnownStatements(), judge=judge)[0]


def test_a_sentence_without_words_that_the_rules_know_is_kept_whole_and_says_why() -> None:
    message = "My pupils are in year 4. Can you write a worksheet on volcanoes?"
    assert not heard(message, None)
    said = heard(message, ScriptedJudge({"year 4": "notes"}))
    assert [(each.text, each.sentence, each.form) for each in said.facts] == [
        ("My pupils are in year 4", "My pupils are in year 4.", "model")
    ]


def test_each_kind_goes_to_its_section() -> None:
    judge = ScriptedJudge(
        {"slow phones": "constraints", "lost": "preferences", "night train": "decisions", "Okafor": "notes"}
    )
    said = heard(
        "Most readers sit on slow phones. I get lost in long texts. The night train it is. Ms Okafor signs things.",
        judge,
    )
    assert [rule.text for rule in said.rules] == ["Most readers sit on slow phones"]
    assert [each.text for each in said.preferences] == ["I get lost in long texts"]
    assert [each.summary for each in said.decisions] == ["The night train it is"]
    assert [each.text for each in said.facts] == ["Ms Okafor signs things"]


def test_what_the_rules_read_is_left_out_where_the_judge_says_that_it_is_of_the_moment() -> None:
    message = "Never mind the tests, always print the time in this run."
    assert heard(message, None).rules
    assert not heard(message, ScriptedJudge())


def test_what_the_rules_read_is_kept_as_its_whole_sentence_once() -> None:
    message = "Tone for parents: warm, but no emojis and no exclamation marks."
    said = heard(message, ScriptedJudge({"parents": "constraints"}))
    assert [rule.text for rule in said.rules] == ["Tone for parents: warm, but no emojis and no exclamation marks"]


def test_a_sentence_that_says_little_alone_is_kept_with_the_one_before_it() -> None:
    message = "Chapter 3 is frozen. Don't propose anything for it before that changes."
    said = heard(message, ScriptedJudge({"frozen": "constraints", "propose": "constraints"}))
    assert [rule.text for rule in said.rules] == [
        "Chapter 3 is frozen. Don't propose anything for it before that changes"
    ]


def test_two_rules_beside_each_other_stay_two() -> None:
    said = heard(
        "Always use tabs. Never push to main.", ScriptedJudge({"tabs": "constraints", "main": "constraints"})
    )
    assert [rule.text for rule in said.rules] == ["Always use tabs", "Never push to main"]


def test_what_stands_is_not_heard_again() -> None:
    judge = ScriptedJudge({"year 4": "notes"})
    standing = extract("My pupils are in year 4.", KnownStatements(), judge=judge)[1]
    assert not heard("As I said: my pupils are in year 4.", judge, standing)


def test_a_sentence_too_long_for_a_statement_is_not_kept() -> None:
    long = "My pupils " + "and theirs " * 30 + "are in year 4."
    assert not heard(long, ScriptedJudge({"year 4": "notes"}))


def test_a_message_of_many_sentences_is_read_by_the_rules_alone() -> None:
    many = " ".join(f"The pupils of room {number} are in year 4." for number in range(21))
    assert not heard(many, ScriptedJudge({"year 4": "notes"})).facts


def test_what_a_message_ends_in_words_of_no_rule_may_be_over() -> None:
    rule = "Don't write to the Berlin office"
    standing = KnownStatements(rules=(rule,), latest=(("constraints", rule),))
    said = heard("Jutta called, all good between us.", ScriptedJudge(ending={"all good": "Berlin"}), standing)
    assert [(each.text, each.doubt) for each in said.ended] == [(rule, True)]
    assert not heard("Jutta called, all good between us.", ScriptedJudge(), standing).ended


def test_a_message_that_ends_one_thing_by_its_name_ends_no_other() -> None:
    standing = KnownStatements(rules=("Never push to main", "Don't write to the Berlin office"))
    said = heard("You may push to main now.", ScriptedJudge(ending={"push": "Berlin"}), standing)
    assert said.withdrawn == ("Never push to main",) and not said.ended


def test_what_announces_what_follows_or_is_an_own_plan_is_not_kept() -> None:
    judge = ScriptedJudge({"scripts": "notes", "drawings": "decisions"})
    assert not heard("The package now has scripts:", judge)
    assert not heard("I'll finish the drawings over the weekend.", judge)


def test_a_judge_that_is_certain_is_believed_where_the_rules_take_it_for_a_report() -> None:
    message = "My pupils are in year 4, they can't do fractions yet."
    said = heard(message, ScriptedJudge({"year 4": "notes"}))
    assert [each.text for each in said.facts] == ["My pupils are in year 4, they can't do fractions yet"]


def test_a_message_without_a_sentence_of_its_own_ends_nothing() -> None:
    standing = KnownStatements(rules=("Don't write to the Berlin office",))
    assert not heard(
        "```\nall good at the Berlin office\n```", ScriptedJudge(ending={"all good": "Berlin"}), standing
    )


def test_what_the_agent_says_is_not_judged() -> None:
    said, _ = extract(
        "Your pupils are in year 4.", KnownStatements(), by_agent=True, judge=ScriptedJudge({"year 4": "notes"})
    )
    assert not said


def test_a_rule_of_two_sentences_keeps_both() -> None:
    said = heard("The cap is $500. Never exceed it.", ScriptedJudge({"exceed": "constraints"}))
    assert [rule.text for rule in said.rules] == ["The cap is $500; Never exceed it"]


def test_a_judge_is_not_asked_of_what_somebody_says_he_prefers_or_of_where_his_work_stands() -> None:
    said = heard("I prefer vim keys, can you set them up?", ScriptedJudge())
    assert [each.text for each in said.preferences] == ["vim keys"]
    said = heard("The next step is the migration script.", ScriptedJudge())
    assert [each.text for each in said.facts] == ["The next step is the migration script"]


class _Unsure(ScriptedJudge):
    """Finds a sentence as likely meant to last as not."""

    def judge(self, sentences: Sequence[str], message: str) -> list[Judged]:
        return [Judged(0.5, "notes") for _ in sentences]


def test_a_judge_that_is_unsure_is_believed_of_what_stands_in_the_place_of_something() -> None:
    standing = extract("All forms go to the clinic by fax.", KnownStatements())[1]
    message = "They've opened a portal for them. Is that safer?"
    assert not heard(message, _Unsure(), standing)
    said = heard(message, _Unsure(ending={"portal": "fax"}), standing)
    assert [(each.text, each.doubt) for each in said.ended] == [("All forms go to the clinic by fax", True)]
    assert [rule.text for rule in said.rules] == ["They've opened a portal for them"]


def test_a_message_without_a_word_of_turning_ends_nothing_whatever_a_judge_says() -> None:
    standing = extract("All forms go to the clinic by fax.", KnownStatements())[1]
    judge = ScriptedJudge(ending={"loud": "fax"})
    assert not heard("Hospitals sound loud.", judge, standing).ended
    assert heard("Hospitals moved, quite loud.", judge, standing).ended


def test_an_answer_may_end_what_the_question_before_it_was_about() -> None:
    standing = KnownStatements(rules=("Invoices go out on the 25th", *(f"Rule {number}" for number in range(4))))
    judge = ScriptedJudge(ending={"dated the 1st": "25th"})
    question = "Several customers ask for invoices dated the 1st. Would you like that?"
    asked = extract(question, standing, by_agent=True)[1]
    assert [each.text for each in heard("I would", judge, asked).ended] == ["Invoices go out on the 25th"]
    told = extract("Several customers ask for invoices dated the 1st.", standing, by_agent=True)[1]
    assert not heard("I would", judge, told).ended


def test_where_little_stands_a_judge_is_asked_of_all_of_it() -> None:
    rules = ("The working title is Salt Roads", "Letters go by post")
    judge = ScriptedJudge(ending={"bad night": "Salt Roads"})
    message = "oh no, after a bad night: The Brine Ledger it is"
    assert heard(message, judge, KnownStatements(rules=rules)).ended
    many = KnownStatements(rules=(*rules, "Maps are drawn by hand", "Chapters have no titles"))
    assert not heard(message, judge, many).ended


def test_what_holds_of_one_part_is_not_over_by_what_holds_of_another() -> None:
    standing = KnownStatements(rules=("The production database is Postgres 16",))
    judge = ScriptedJudge(ending={"database": "Postgres"})
    assert not heard("The staging database is MySQL 8 now.", judge, standing).ended
    assert heard("The new database is MySQL 8 now.", judge, standing).ended


def test_what_the_rules_take_for_over_is_not_where_a_judge_is_sure_that_it_holds() -> None:
    standing = extract("use pnpm for everything", KnownStatements())[1]
    message = "we went back to npm after the pnpm mess"
    assert heard(message, None, standing).ended

    class Holds(ScriptedJudge):
        def ends(self, statements: Sequence[str], message: str) -> list[float]:
            return [-8.0 for _ in statements]

    assert not heard(message, Holds(), standing).ended


def test_nothing_takes_the_place_of_what_only_may_be_over() -> None:
    class Wavers(_Unsure):
        def ends(self, statements: Sequence[str], message: str) -> list[float]:
            return [-2.0 for _ in statements]

    standing = extract("All forms go to the clinic by fax.", KnownStatements())[1]
    said = heard("They've opened a portal for them. Is that safer?", Wavers(), standing)
    assert said.ended and not said.rules


def test_a_label_before_a_message_is_none_of_its_words() -> None:
    seen: list[str] = []

    class Listens(ScriptedJudge):
        def judge(self, sentences: Sequence[str], message: str) -> list[Judged]:
            seen.extend((*sentences, message))
            return super().judge(sentences, message)

    said = heard("HARD RULE: Never push to main.", Listens({"push": "constraints"}))
    assert [rule.text for rule in said.rules] == ["Never push to main"]
    assert seen == ["Never push to main.", "Never push to main."]
