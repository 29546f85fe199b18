"""How much each thing that a sentence or a message has speaks for what is asked of it, in hundredths of a logit.

Learned by a logistic regression (decision 41); `python -m bench.recorder_weights --write` learns the first table anew. Not
to be edited by hand.
"""

# ruff: noqa: E501 (a table)
from __future__ import annotations

from functools import cache

_START = -41
"""What a sentence of which nothing is found has."""

_TABLE = """
I: doing -41, has done 19, may 23, need -12, past -14, should -26, want 48, would 41
a: name 94, now -22, single thing -13
all: need 66, now -20
an: outsider -83
bare: I 11, a -18, ed -30, ing -29, it -54, most 39, my -44, never -29, no 44, noun -32, number 45, one 80, plural 111, prep -23, say 30, the -77, they -45, thing 34, thing number 29, thing prep number 22, verbs -20, we 20, with prep -19, you -46
be: then a -8, then all 17, then bad -23, then ed 21, then few 10, then ing -16, then never -19, then noun 18, then number 46, then plural -32, then prep -40, then the 39, then verb 57, then wh 37
but: not 56
case: I -44, a 55, behind all -18, behind ing -23, behind mark -47, behind number 21, behind the -28, behind we -39, behind you 48, the -19, you 20
do: then never 22
dont: then noun -21, then verb -38, then want 54
ed: then I -13, then a -14, then it -45, then mark 52, then noun -26, then number -16, then prep 28, then the -40
ends: open -137
first: I -33, a -56, all 51, and_ 100, be -10, because -39, ed -13, few -41, if_ 39, ing -25, insist 31, it -73, let 15, may -31, maybe -47, most 13, my -50, never 8, no 10, none -16, number 22, one 14, only 11, past -24, please -10, plural -13, prep 15, remember_ 44, say -45, should -17, they -37, think -28, verb 8, verbs 68, we -14, wh -23, would 39, you -20
frame: bare 22, doing -16, has done -20, let I -57, let noun -26, let verb 13, may 30, must -24, nothing -23, now -40, order 12, order all 27, order never 97, order not 55, past -86, question -54, question be -23, question do -48, question should -14, question would 60, subjectless be 13, subjectless do -10, subjectless want 27, subjectless would -23, want -58, wh -46, will 32, would -28
general: - -27
had: then a -14
has: I -34, a -33, all 33, and_ -59, bad -47, be 28, because 58, chat -88, day -11, did -18, dont 70, ed 8, future 40, had -59, his -77, if_ 37, ing 22, insist 24, instead 32, it -32, let 85, mark -52, may -41, maybe -112, most 40, must 59, my -42, need 25, never 43, no 31, none 18, noun 24, now -100, only 40, past -53, please 117, plural 35, prep 40, quoted 34, remember_ 33, say -71, settled 116, should -42, sometimes -17, there -75, they -37, think -50, verb 24, verbs 10, want 76, was -85, we 26, wh -104, will 13, would -64, you 35
have: then a -56, then ed -18, then number -31, then prep 53, then settled 46
if_: now -22, past -10
ing: now 42
it: must -33, now 12, would 23
last: I 43, all 29, be 30, chat -85, day 24, ed -25, few -34, instead 45, it -32, most 27, noun -45, now -18, number 19, only 44, please -29, plural 19, quoted -57, there -20, they 36, think -15, verb -10, verbs 53, you -9
mark: bracket -20, colon 56, comma 73, exclamation -65, question -212
may: then never 12, then noun -36
must: then be -13, then never 41, then verb -33
my: now 41, past 9
name: may 16, now 10, past -45
need: then a 63
never: now -13
no: now 15
none: may 43
noun: may -38, now 13, past 30, want -39
number: now -10
of: I 8, a -13, all 40, if_ -27, ing -48, insist 38, it -22, maybe -47, most -22, name -21, never -20, no 9, none 47, number -30, one -58, past -23, plural 50, prep -26, say -28, the -19, thes -34, they -20, think -21, verb 30, verbs 30, we 12, you -16
one: now 9, past -28
order: I -16, a -46, a noun -24, all -18, if_ 15, it -33, it noun 15, it prep -59, not never 36, not noun 12, not verb 32, noun -30, of keeping 84, of keeping general 39, of keeping particular 45, of once -58, of once general 18, of once particular -81, of other general 46, of other particular -42, plural 18, prep 52, the -76, the bad -12, the ing -17, the noun 24, the plural -21, the verb -21, the verbs 16
pair: I be -56, I dont -22, I ed -32, I have -13, I need -36, I never 17, I think -39, I verb -34, I want 50, I will -21, I would 77, a day 28, all verb -21, be bad -59, be ed 53, be ing -28, be insist 9, be it -44, be noun -10, be now 62, be number 39, be plural -30, be prep 15, be the -43, be there -35, do I -10, do we -12, do you -36, dont verb 55, have ed -29, have number -10, have was -29, if_ I -36, if_ a 78, if_ all 36, if_ ing 20, if_ noun -15, if_ the -24, if_ we -92, if_ you 99, it all -55, it be 12, it ed -44, it must -22, it should 26, it verbs -10, it was -12, may you -48, most number 31, must be -52, must have 11, must never 47, must verb 16, never prep 64, no noun 48, no plural 13, no verbs 17, noun all -35, noun be 33, noun ed -21, noun must 16, noun should -23, noun verbs 40, number noun 11, number plural -37, please dont 21, please verb -48, plural be 9, plural ed 17, plural must 17, plural never 9, plural only -15, plural prep 42, plural verb 49, prep all 28, prep day -11, prep now 116, prep number 12, should be -14, the day 9, they all -26, they never -13, they verb 14, they verbs 9, verb a -31, verb all 44, verb it 49, verb my -13, verb number -22, verb plural 9, verb the 32, verbs all 11, verbs prep 25, want a -10, want it 12, want noun 34, want prep 8, we all -35, we dont 16, we ed 16, we have 24, we may -11, we need -27, we never -43, we verb 61, we will 22, would have -36, would you 36, you be 33, you dont 9, you may -70, you must -10, you never 20, you say 47, you verb 38
particular: - -45
past: past -17
plural: may -52, must 27, now 24, past 17
prep: now 18, past -28
should: then be -18, then never 22, then verb -10
the: may 65, must 12, now -25, past -37, should -25, want 20
thes: now -12
they: now -27, past 51, want -15
thing: now 29, now number 23, now plain 15
topic: I 33, all 34, before 14, it 28, my -38, noun 23, now 27, number -10, plural 26, the -13
two: choosing 127, for now -109, insisting 57, judging -66, lasting 30, over -103, past -129, thought -97, with us 104
verb: now 26, then a -13, then mark 16, then noun -39, then prep 35, then the -26
verbs: now -38, then a -27, then mark 19, then nothing 27, then number -10, then prep 21
want: then a -17, then noun 37, then prep -49, then the -14
was: then ed 28, then noun -32, then prep -16
we: doing 17, need -49, now 75, past -35, will 45, would -37
will: then verb 40
words: 1-2 -161, 16-25 -17, 26- 25, 3-4 -42, 5-8 -12, 9-15 9
would: then be -16, then never -50, then noun 17, then prep 21, then verb -11, then want 23
you: may 15, must 25, now -21, past 13
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
