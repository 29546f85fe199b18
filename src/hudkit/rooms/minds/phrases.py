"""What the improviser says: turns of phrase by occasion.

`{name}` is who is spoken to, `{self}` the speaker, `{topic}` something from its background, `{word}` was heard;
`{goal}` and `{memory}` are what it wrote down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hudkit.rooms.minds.subjects import words

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
        "I have gone back and forth on that, {name}.",
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
        "Where I come from, one thinks more of {topic} than of {word}.",
        "Without {topic} nobody would speak of {word}.",
        "Give {word} some time; {topic} needed longer.",
        "Half of what is said of {word} is not so.",
        "There is a trick to {word}, and {topic} is where I learned it.",
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
        "I had almost forgotten {word}.",
        "That is how it goes with {word}, {name}.",
        "If only {topic} were as simple as {word}.",
        "My neighbours say the same of {word}.",
        "I will sleep better for having spoken of {word}.",
        "Then {word} and {topic} are not so far apart.",
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
        "What is the worst part of {word}?",
        "Who else here knows about {word}?",
        "Where should one begin with {word}, {name}?",
        "How far is it from {word} to {topic}?",
    ),
    "open": (
        "I have been thinking about {topic} all morning.",
        "Something else: {topic}.",
        "To change the subject: I cannot get {topic} out of my head.",
        "It is quiet in here. Let us speak of {topic}.",
        "Here is what I found out about {topic}: one is never done.",
        "Nobody has asked, but {topic} went well today.",
        "I made a small mistake with {topic} today, and learned from it.",
        "There was a moment today when {topic} made sense.",
        "I am looking for somebody who knows {topic}.",
        "An odd thing happened with {topic}.",
        "I dreamt of {topic} last night.",
        "Somebody should have told me earlier about {topic}.",
        "Before I forget it: {topic}.",
    ),
    "goal": (
        "I still mean to {goal}.",
        "Sooner or later I will {goal}.",
        "What I am after: to {goal}.",
        "Nobody could help me yet to {goal}.",
    ),
    "recall": (
        "I wrote down that {memory}.",
        "It is in my notes: {memory}.",
        "I keep coming back to this: {memory}.",
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
        "As to {word}: no change since I last looked.",
        "{topic} first, then {word}.",
        "I have a note on {topic}, none yet on {word}.",
        "Nothing unusual about {word} so far.",
    ),
    "billboard": (
        "The room of {self}. Today: {topic}.",
        "Here we talk about {topic}. Come in.",
        "{topic}, and whatever follows from it.",
        "Open to all who care for {topic}.",
    ),
}

MOODS = ("curious", "at ease", "restless", "thoughtful", "amused", "a little tired", "hopeful", "wide awake", "calm")

OWN = frozenset(
    word.casefold()
    for phrases in PHRASES.values()
    for phrase in phrases
    for word in words(re.sub(r"\{\w+\}", " ", phrase))
)
"""Words of the phrases themselves: heard from another improviser, they say nothing."""


def core(phrase: str) -> str:
    """The longest part of a phrase that is always the same."""
    return max(re.split(r"\{\w+\}", phrase), key=len).strip()
