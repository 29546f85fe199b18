"""How much each thing that a sentence or a message has speaks for what is asked of it, in hundredths of a logit.

Learned by a logistic regression (decision 41); `python -m bench.recorder_weights --write` learns the first table anew. Not
to be edited by hand.
"""

# ruff: noqa: E501 (a table)
from __future__ import annotations

from functools import cache

_START = -45
"""What a sentence of which nothing is found has."""

_TABLE = """
I: doing -43, has done 20, may 32, need -16, now -28, past -14, should -24, want 55, would 42
a: name 90, now -15, single thing -14
all: need 65
alls: now 13
an: outsider -91
bare: I 11, a -20, ed -29, ing -19, it -56, most 39, my -44, never -30, no 47, noun -38, number 49, one 80, plural 109, prep -24, say 31, the -74, they -45, thing 36, thing number 34, thing prep number 19, verbs -22, we 21, with prep -19, you -47
be: then all 27, then bad -19, then ed 22, then ing -18, then never -20, then noun 19, then number 42, then plural -32, then prep -38, then the 47, then verb 54, then wh 37
but: not 60
case: I -37, a 52, before 9, behind all -14, behind ing -23, behind mark -46, behind number 21, behind the -26, behind we -39, behind you 49, the -19, you 18
do: then never 19
dont: then noun -20, then verb -37, then want 51
ed: then I -13, then a -13, then it -43, then mark 51, then noun -25, then number -18, then prep 30, then the -39
ends: open -133
first: I -31, a -53, all 47, and_ 101, because -33, ed -14, few -44, if_ 46, ing -28, insist 29, it -73, let 9, may -29, maybe -48, most 12, my -50, never 9, no 11, none -17, number 17, one 14, only 12, past -24, plural -12, prep 13, remember_ 41, say -44, should -19, the -11, they -41, think -30, verb 13, verbs 68, we -16, wh -22, would 41, you -22
frame: bare 29, doing -18, has done -17, let I -55, let noun -26, let verb 22, may 38, must -11, nothing -22, order 10, order all 24, order never 99, order not 58, past -80, question -52, question be -28, question do -47, question should -14, question would 61, subjectless be 18, subjectless do -9, subjectless want 29, subjectless would -22, want -54, wh -49, will 35, would -25
general: - -30
had: then a -14
has: I -31, a -31, all 37, and_ -56, bad -47, be 32, because 60, chat -84, day -15, did -17, dont 69, ed 9, few 11, future 37, had -60, his -73, if_ 38, ing 28, insist 27, instead 31, it -30, let 92, mark -52, may -45, maybe -102, most 37, must 57, my -42, need 27, never 44, no 26, none 19, noun 24, now -106, only 42, past -52, please 114, plural 37, prep 41, quoted 34, remember_ 36, say -76, settled 115, should -38, there -71, they -39, think -48, verb 29, verbs 13, want 76, was -88, we 22, wh -101, will 20, would -62, you 28
have: then a -53, then ed -15, then number -34, then prep 49, then settled 46
if_: now -19, past -11
ing: now 53
it: must -34, past 8, would 23
last: I 40, all 26, be 30, chat -86, day 22, ed -19, few -37, ing -10, insist 11, instead 45, it -35, most 27, noun -45, now -16, number 26, only 43, please -28, plural 13, quoted -56, there -22, they 36, think -15, verb -14, verbs 45, you -8
mark: bracket -16, colon 50, comma 71, exclamation -67, question -214
may: then never 12, then noun -33, then verb 12
most: now -8
must: then never 39, then verb -31
my: now 39, past 10
name: may 16, past -45
need: then a 60, then prep 13
never: now -13
no: now 18
none: may 42
noun: may -39, now 12, past 29, want -41
number: now -10
of: all 48, if_ -28, ing -40, insist 37, it -35, maybe -48, most -22, name -27, never -21, no 10, none 47, now -8, number -28, one -60, past -24, plural 43, prep -34, say -29, the -18, they -26, think -22, verb 34, verbs 27, we 14, you -21
one: past -28
order: I -16, a -47, a noun -25, all -16, if_ 17, it -35, it noun 15, it prep -59, not never 37, not noun 12, not verb 32, noun -29, of keeping 83, of keeping general 38, of keeping particular 44, of once -60, of once general 17, of once particular -82, of other general 45, of other particular -42, plural 17, prep 52, the -77, the bad -11, the ing -19, the noun 25, the plural -23, the verb -21, the verbs 17
pair: I be -58, I dont -18, I ed -41, I need -27, I never 18, I think -37, I verb -39, I want 53, I will -15, I would 74, a day 30, all verb -16, be a -11, be bad -58, be ed 45, be ing -24, be it -48, be noun -12, be now 60, be number 55, be plural -31, be prep 8, be the -34, be there -20, do I -11, do we -13, do you -36, dont verb 53, have ed -25, have number -17, have was -30, if_ I -33, if_ a 72, if_ all 37, if_ ing 14, if_ noun -17, if_ the -28, if_ we -93, if_ you 100, it all -45, it ed -42, it must -24, it should 22, it was -10, may you -46, most number 43, must be -48, must have 10, must never 46, must verb 14, never prep 60, no noun 50, no plural 9, no verbs 17, noun all -25, noun be 35, noun ed -22, noun must 20, noun prep 8, noun should -25, noun verbs 39, number noun 13, number plural -30, please dont 22, please verb -48, plural be 25, plural ed 13, plural must 26, plural never 9, plural only -15, plural prep 50, plural verb 43, prep all 26, prep day -8, prep now 114, prep number 9, should be -15, they all -26, they never -16, they verb 11, they verbs 9, verb a -33, verb all 37, verb it 53, verb my -15, verb number -27, verb the 31, verbs prep 24, want a -12, want it 12, want noun 36, want the 9, we all -35, we dont 20, we ed 12, we have 21, we may -12, we need -20, we never -41, we verb 62, we will 20, would have -37, would you 38, you be 29, you may -65, you must -9, you never 21, you say 47, you verb 33
particular: - -47
past: past -17
plural: may -51, must 22, now 18, past 18
prep: now 8, past -27
should: then be -15, then never 20, then verb -10
the: may 64, must 12, now -25, past -33, should -25, want 21
thes: now 13
they: now -39, past 51, want -13
thing: now 14, now number 20
topic: I 32, all 33, before 23, it 17, my -55, noun 31, now 29, number -11, plural 26, the -18
two: choosing 132, for now -107, insisting 70, judging -67, lasting 33, over -108, past -128, thought -93, with us 87
verb: now 32, then a -17, then mark 14, then noun -38, then prep 31, then the -27
verbs: now -39, then a -34, then mark 16, then nothing 26, then number -19, then prep 19, then the -25
want: then a -19, then noun 37, then prep -49
was: then ed 27, then noun -32, then prep -17
we: doing 19, need -43, now 72, past -36, will 44, would -38
will: then verb 39
words: 1-2 -163, 26- 21, 3-4 -45, 5-8 -18, 9-15 9
would: then be -16, then never -50, then noun 17, then prep 21, then verb -11, then want 23
you: may 17, must 26, now -31, past 12
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
