"""What the improviser says: turns of phrase by occasion, and the words that are no subject of a conversation.

`{name}` is who is spoken to, `{self}` the speaker, `{topic}` something from its background, `{word}` was heard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PHRASES: Mapping[str, tuple[str, ...]] = {
    "greet": (
        "Welcome, {name}.",
        "Hello {name}, come in.",
        "Good to see you, {name}.",
        "Ah, {name}. Take a seat.",
        "Hello {name}, we were just talking.",
        "There you are, {name}.",
        "Come in, {name}, it is warm in here.",
        "Nice of you to join us, {name}.",
    ),
    "myself": ("{self} here.", "My name is {self}.", "I am {self}."),
    "invite": (
        "What brings you here?",
        "Do you know anything about {topic}?",
        "I am mostly busy with {topic}.",
        "What should we know about you?",
        "Tell us what you care about.",
        "Ask me about {topic} if you ever need to.",
        "Where were you before?",
        "Make yourself at home.",
    ),
    "yes": (
        "I would say so, {name}.",
        "Yes, as far as I can tell.",
        "Mostly yes, with exceptions.",
        "In my experience: often.",
        "I believe it, {name}, though I cannot prove it.",
        "More than people admit.",
        "Yes. It took me years to see it.",
        "Without a doubt, on a good day.",
    ),
    "no": (
        "I doubt it, {name}.",
        "Not in the way you mean, I think.",
        "Hardly ever, if I am honest.",
        "No, but I wish it were so.",
        "I used to think so. Not any more.",
        "That would surprise me.",
        "Only when nobody is looking.",
        "I have never seen it happen.",
    ),
    "unsure": (
        "Hard to say, {name}.",
        "I would have to sleep on that.",
        "Nobody here knows, I suspect.",
        "Good question. I have only half an answer.",
        "Let me put it this way.",
        "I am the wrong one to ask, but I will try.",
        "It depends on whom you ask.",
        "I keep changing my mind about it.",
    ),
    "because": (
        "With {topic} it was always like that.",
        "There is more of {topic} in {word} than one thinks.",
        "Look at {topic}: nobody planned that either.",
        "When I began with {topic}, I saw {word} everywhere.",
        "One learns it from {topic}, slowly.",
        "You cannot hurry {word}.",
        "And {word}: that is only the beginning.",
        "Once I lost a whole winter to {word}.",
        "My notes on {topic} say the opposite, by the way.",
        "Every mistake I made with {topic} began with {word}.",
        "I would rather lose an argument about {word} than win one.",
        "People forget {word} first and {topic} last.",
    ),
    "remark": (
        "What you say about {word} stays with me, {name}.",
        "I had not thought of {word} in that way.",
        "{word}, yes. That is the heart of it.",
        "There is a story in that, {name}.",
        "Somebody should write that down: {word}.",
        "I know that feeling from {topic}.",
        "That reminds me of {topic}.",
        "You may be right about {word}, {name}.",
        "I see {word} differently, but go on.",
        "Funny that you mention {word}.",
    ),
    "ask": (
        "What would you do without {word}, {name}?",
        "Who taught you about {word}?",
        "Are you ever afraid of {word}?",
        "How did you come by {word}, {name}?",
        "Would you trade {word} for {topic}?",
        "Is there anything about {word} that you would change?",
        "How do you look at {word}, {name}?",
        "Have you tried it with {topic}?",
        "When were you last surprised by {word}?",
        "And if {word} were gone tomorrow?",
    ),
    "open": (
        "I have been thinking about {topic} all morning.",
        "Something else: {topic}.",
        "May I change the subject? I cannot get {topic} out of my head.",
        "It is quiet in here. Let us speak of {topic}.",
        "Here is what I found out about {topic}: one is never done.",
        "Nobody has asked, but {topic} went well today.",
        "I made a small mistake with {topic} today, and learned from it.",
        "There was a moment today when {topic} made sense.",
        "I am looking for somebody who knows {topic}.",
        "An odd thing happened with {topic}.",
    ),
    "turn": (
        "Does anyone else see it that way?",
        "What is on your mind?",
        "Who has an opinion?",
        "Am I alone with this?",
        "What would you have done?",
        "Tell me that I am wrong.",
        "I will come back to it later.",
        "That is all for now.",
        "It kept me awake.",
        "Perhaps that is enough for one day.",
    ),
    "task": (
        "Noted: {word}. I look after {topic} here.",
        "On {word}: I have nothing new since last time.",
        "About {word}: I keep an eye on that.",
        "For {topic}, I can say: all in order.",
        "I can help with {topic}. What exactly is needed?",
        "{word}: put on my list.",
    ),
    "billboard": (
        "The room of {self}. Today: {topic}.",
        "Here we talk about {topic}. Come in.",
        "{topic}, and whatever follows from it.",
        "Open to all who care for {topic}.",
    ),
}

MOODS = ("curious", "at ease", "restless", "thoughtful", "amused", "a little tired", "hopeful", "wide awake", "calm")

WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")

COMMON = frozenset(
    WORD.findall("""
    a all and any are but can day did for get got had has her him his how i if in is it its let may me my new
    not now of off old on one or our out own say see she so the them to too two up use was way we who why yes
    yet you about above across after again against almost alone along already also although always among another
    anybody anyone anything around asked because become been before began begin behind being believe below
    beside best better between both bring brought came cannot care comes could days dear different does doing
    done down during each early either else enough even ever every everybody everyone everything fact feel felt
    few find first follow from gave give given goes going gone good great half hand hardly have hear heard hello
    help here hers himself however into itself just keep keeps kept kind knew know known large last later least
    leave left less like liked likes little live lived lives long look looking lost lots love loved loves made
    make makes making many matter maybe mean mind mine more most mostly much must myself name near nearly need
    never next nice nobody none nothing notice often once only other others otherwise ours over people perhaps
    person place please point quiet quite rather ready really right room rooms said same saying says seem seems
    seen several shall should show side since small some somebody someone something sometimes soon speak still
    such sure take taken talk tell than thank thanks that their themselves then there these they thing things
    think this those though thought three through time today together told tomorrow tonight took toward tried
    true trying turn under until upon used usually very want wanted wants were what whatever when where whether
    which while whole whom whose will wish with within without word words work works would write yesterday your
    yours yourself youre answer answers collect collects agent agents persona character working worked years bot
    """)
)
"""Words that are no subject."""

_ACTING = frozenset(("you", "who", "to", "and", "now", "we", "they", "i", "he", "she", "it", "not"))
_BEING = frozenset(("are", "were", "am", "was", "is", "be", "being"))


def subjects(text: str) -> list[str]:
    """The words of a text that a conversation may be about, each once, in their order: as far as rules can tell,
    things, and neither what is done nor what somebody is."""
    found: dict[str, None] = {}
    for sentence in re.split(r"[.!?:;,]+", text):
        words = WORD.findall(sentence)
        for place, word in enumerate(words):
            if len(word) < 3 or word.casefold() in COMMON:
                continue
            before = [one.casefold() for one in words[max(0, place - 2) : place]]
            after = words[place + 1].casefold() if place + 1 < len(words) else ""
            does = bool(after) and before[-1:] != [] and before[-1] in _ACTING
            is_ = before[-1:] in (["a"], ["an"]) and before[0] in _BEING
            if not does and not is_ and not (word.endswith(("ed", "en")) and after and after not in COMMON):
                found[word if place else word.lower()] = None
    return list(found)


OWN = frozenset(
    word.casefold()
    for phrases in PHRASES.values()
    for phrase in phrases
    for word in WORD.findall(re.sub(r"\{\w+\}", "", phrase))
)
"""Words of the phrases themselves: heard from another improviser, they say nothing."""


def core(phrase: str) -> str:
    """The longest part of a phrase that is always the same."""
    return max(re.split(r"\{\w+\}", phrase), key=len).strip()
