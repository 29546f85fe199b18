"""How much each thing that a sentence or a message has speaks for what is asked of it, in hundredths of a logit.

Learned by a logistic regression (decision 41); `python -m bench.recorder_weights --write` learns the first table anew. Not
to be edited by hand.
"""

# ruff: noqa: E501 (a table)
from __future__ import annotations

from functools import cache

_START = -48
"""What a sentence of which nothing is found has."""

_TABLE = """
I: doing -40, need -10, should -30, want 53, will -69, would 38
a: name 54, now -13
all: need 58
an: outsider -78
bare: I -11, ed -29, ing -10, it -54, my -45, never -35, no 58, noun -27, number -12, one 64, plural 115, prep -43, quoted -31, say 24, the -72, thing 38, thing number -20, thing prep -9, thing prep not 14, thing prep number 33, verbs -23, we 43, with prep -14, you -48
be: then a -16, then all 19, then bad -28, then chat -9, then ed 19, then insist 10, then mark 26, then never -38, then noun 12, then now 16, then number 74, then plural -18, then prep -45, then the 36, then verb 38, then wh 31
but: not 55
case: I -30, a 49, behind I 10, behind a 12, behind all 10, behind ing -47, behind mark -32, behind number 43, behind prep 11, behind the -11, behind they -25, behind we -32, behind you 67, the 11, you 17
compared: - -27
dont: then verb -43, then want 39
ed: then I -14, then it -44, then mark 45, then my 57, then noun -28, then number -11, then prep 34, then the -41
ends: open -198
first: I -15, a -20, all 71, and_ 48, bad 24, be -15, because -33, dont -16, ed -34, if_ 29, ing -14, insist 35, it -58, let 17, may -34, maybe -59, most 52, my -34, none -8, noun -16, number -55, one 11, past -39, prep 44, remember_ 37, say -66, should -13, the -16, they -28, think -31, verbs 53, wh -18, would 46, you -9
frame: bare 21, has done -23, let I -44, let do 27, let noun -25, let verb -20, may 36, must -11, need -14, nothing -18, now -35, order 12, order all 46, order never 91, order not 41, past -77, question -64, question be -29, question do -51, question should -17, question would 63, subjectless be 11, subjectless do -11, subjectless want 20, subjectless would -19, want -18, wh -47, would -40
general: - -27
had: then prep -16
has: a -28, all 15, and_ -65, bad -58, be 42, because 66, chat -115, did -21, dont 84, few 12, future 10, had -75, have 45, his -60, if_ 34, ing -35, insist 19, instead 9, it -34, let 64, mark -60, may -68, maybe -98, most 47, must 38, my -70, need 18, never 38, no 28, none 53, noun 32, now -98, one 39, only 43, past -30, please 106, plural 28, prep 46, quoted -14, remember_ 49, say -78, settled 89, should -61, the 8, there -33, they -14, think -30, verb 26, verbs 17, want 71, was -68, we 25, wh -118, would -84, you 19
have: then a -21, then because -14, then ed -23, then never -16, then noun -29, then number -9, then prep 60, then say -9, then settled 47
ing: now 50
it: must -28, would 23
last: I 24, all 44, bad -16, be 21, chat -75, few -34, if_ 11, insist 10, instead 46, it -34, most 21, never -10, noun -19, now -25, number -36, only 49, please -28, quoted -53, there -36, they 31, think -18, verb -14, verbs 33
mark: bracket -35, colon 33, comma 80, exclamation -116, question -224
may: then never 34, then noun -9, then verb -16
maybe: now -18
must: then have -15, then never 43, then verb -25
my: now 22
name: may 21, now 11, past -41
need: then a 67, then prep -13
never: now -21
no: now 15
none: may 39
noun: may -31, now -9, past 37
number: now 12
of: I -55, all 53, alls 15, if_ -27, ing -42, insist 36, it -53, maybe -62, my 18, name -23, never -33, none 36, one -57, past -32, plural 27, prep -15, say -40, thes 9, they -20, think -23, verb 42, verbs 15, we 23
order: I -37, a -40, a noun -17, it -20, it noun 8, it prep -59, mark -33, not never 37, not verb 27, noun -19, of keeping 87, of keeping general 29, of keeping particular 58, of once -59, of once general 17, of once particular -77, of other general 60, of other particular -62, plural 27, prep 47, the -77, the ing -10, the noun 10, the plural -8, the verb -13, the verbs 15
pair: I all -21, I be -116, I dont 20, I ed -23, I have -52, I need -19, I never 19, I think -50, I verb -19, I want 30, I will -93, I would 63, a day 45, be a 24, be bad -30, be ed 45, be ing -28, be insist 24, be it -24, be never 10, be noun -12, be now 38, be number 47, be plural -17, be prep 18, be the -31, be there -27, day be -10, do I -28, do we -11, do you -37, dont verb 48, have a 24, have ed -44, have number -14, have was -15, if_ I -21, if_ a 61, if_ all 63, if_ ing 18, if_ it -21, if_ noun -25, if_ one -12, if_ the 8, if_ they -24, if_ we -82, if_ you 106, it all -54, it ed -38, it must -26, it should 21, it verbs 26, it was -17, may you -73, most number 36, must be -42, must have -9, must never 57, must verb 12, never prep 62, no noun 42, no plural 13, noun all -21, noun be 38, noun ed -34, noun must 24, noun verbs 36, only verb -27, please dont 18, please verb -54, plural ed 24, plural must 38, plural only -24, plural prep 20, plural verb 44, prep all 27, prep future -23, prep now 102, prep number 19, should I -15, should be -25, the day 17, they never -10, they verb 38, verb a -40, verb all 31, verb it 26, verb my -30, verb number -28, verb the 22, verbs prep 30, want it 9, want noun 26, want plural -9, want prep -24, we dont 15, we ed 14, we may 8, we need -23, we never -52, we verb 62, we will 45, would have -40, would you 46, you be 26, you ed -16, you may -52, you never 24, you say 44, you should 14, you verb 41
particular: - -49
past: past -22
plural: may -50, must 22, past 19
prep: now 25, past -35
should: then never 16
the: may 83, now -45, past -31, should -17, want 26
thes: now 9
they: now -36, past 53
thing: now 45, now day 14, now number 57, now plain 9
topic: I 13, all 25, before 18, it 27, my -43, now 32, plural 8, the -48
two: choosing 148, for now -90, insisting 40, judging -120, lasting 62, over -123, past -142, thought -120
verb: now 40, then a -20, then mark 15, then noun -39, then plural 21, then prep 9, then the -33
verbs: now -34, then a -34, then mark 19, then nothing 28, then number 13, then prep 37, then the -31
want: then prep -76
was: then noun -31
we: doing 22, now 32, past -43, will 67, would -40
will: then be 29, then noun -52
words: 1-2 -188, 26- -49, 3-4 -30, 9-15 40
would: then be -11, then never -41, then prep 14, then want 27
you: may 24, now -30, past 10
"""
"""By the first word of a name, the rest of it with its weight."""


_TOPIC_START = -349
_TOPIC_TABLE = """
a: name in common 81
age: 0 -47, 1 88, 2 -17, 3 -24
allows: the forbidden far 59, the forbidden half 14, the forbidden near 46
alone: - 197
common: 0 -53, 2 13, 3 40
cue: allowed 42, asks more 13, dropped 26, ended 24, holds on -24, instead 23, moved 28, no longer 56, now 21, once 11, position -41, settled 7, then 35, turned 72
ended: another -10
far: fresh allowed -7, fresh bad 46, fresh dropped 44, fresh ended 15, fresh holds on -8, fresh instead 52, fresh lasting hardly 30, fresh lasting never 20, fresh lasting perhaps -32, fresh lasting surely -26, fresh moved 23, fresh no longer -20, fresh now 39, fresh once -12, fresh position -37, fresh settled 12, fresh then 11, fresh turned 69, older allowed -18, older asks more -7, older bad -6, older instead -22, older lasting never 6, older lasting perhaps -18, older lasting surely -35, older moved -13, older now -9, older turned 9
half: fresh bad -20, fresh dropped 18, fresh ended 9, fresh holds on 8, fresh lasting hardly -33, fresh lasting never -16, fresh lasting perhaps 27, fresh lasting surely 44, fresh moved 44, fresh no longer 8, fresh then -10, fresh turned 25, older allowed 19, older asks more -11, older bad -8, older instead -12, older lasting hardly 15, older lasting never -7, older lasting perhaps -6, older lasting surely -6, older moved -9, older settled 24, older then 35, older turned 13
lasting: hardly 27, never -31, perhaps 26, surely -22
latest: - 55
near: fresh allowed 26, fresh asks more 15, fresh bad -13, fresh dropped -26, fresh ended 7, fresh holds on -23, fresh instead 8, fresh lasting hardly 16, fresh lasting never -42, fresh lasting perhaps 40, fresh lasting surely 16, fresh moved -16, fresh no longer 72, fresh now 7, fresh once 7, fresh settled -25, fresh then -9, fresh turned -44, older allowed 25, older asks more 13, older lasting never 7, older lasting perhaps 15, older lasting surely -14, older now -7, older then 13
no: cue -56
older: - -55
place: far latest -8, far older -45, half latest 22, near latest 29
points: fresh -21, older -39
rival: - 71
settles: the bounded far -6, the bounded half 19
share: most 53, none -53
states: 0 far -51, 0 half 7, 1 far 38, 1 half 21, 1 near 31, 2 far -40, 2 half -11, of the same 88
value: other far 112, other half 20, other near 38, same far 93, same near 33
words: -20 14, -4 92, -40 -38, 41- -73
"""
"""What speaks for it that a message ends a statement, in the same way."""


@cache  # read with the first message, not when the package is imported
def weights() -> dict[str, int]:
    """Return the weight of each thing that a sentence may have, and under the empty name the start."""
    return _read(_START, _TABLE)


@cache
def topic_weights() -> dict[str, int]:
    """Return the same for what speaks for it that a message ends a statement."""
    return _read(_TOPIC_START, _TOPIC_TABLE)


def _read(start: int, text: str) -> dict[str, int]:
    table = {"": start}
    for line in text.strip().splitlines():
        group, _, row = line.partition(": ")
        for entry in row.split(", "):
            rest, _, weight = entry.rpartition(" ")
            table[group if rest == "-" else f"{group} {rest}"] = int(weight)
    return table
