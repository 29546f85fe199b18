"""How much each thing that a sentence or a message has speaks for what is asked of it, in hundredths of a logit.

Learned by a logistic regression (decision 41); `python -m bench.recorder_weights --write` learns the first table anew. Not
to be edited by hand.
"""

# ruff: noqa: E501 (a table)
from __future__ import annotations

from functools import cache

_START = -224
"""What a sentence of which nothing is found has."""

_TABLE = """
I: doing -31, may 14, need -17, now 14, past 22, should -22, want 8, will -74
a: name 69, now -15, single thing -16
all: need 71, now -32
an: outsider -98
bare: I -13, a 21, ed -25, ing -32, it -39, my -53, never -20, no 39, noun -38, number 23, one 59, plural 112, prep -26, quoted -18, say 13, the -87, thing 40, thing prep -9, thing prep not -42, thing prep number 45, verbs -9, we 41, with prep -13
be: then a -11, then all 12, then bad -18, then ed 19, then ing -12, then insist 13, then mark 27, then never -32, then noun 12, then now -23, then number 34, then prep -28, then the 50, then verb 42, then wh 30
but: not 55
case: I -32, a 59, before -23, behind I -9, behind ing -24, behind it -21, behind mark -29, behind number 34, behind prep 15, behind there -12, behind we -38, behind you 42, the -39, you 16
compared: - -20
do: then never 13
dont: then verb -42
ed: then a -21, then it -24, then mark 38, then my 59, then noun -27, then prep 13, then the -33
ends: open -183
every: such day -11
first: all 54, and_ 76, bad 35, because -49, ed -26, if_ 42, ing -11, insist 17, it -74, let 18, maybe -55, most 51, my -11, noun -11, number -37, only 22, past -39, prep 58, remember_ -22, say -62, should -34, the -19, they -21, think -22, verb 18, verbs 57, we -18, would 55, you 12
frame: bare 62, doing -12, has done -20, let do 32, let noun -41, may 48, must 11, need -10, nothing -14, now -25, order 24, order all 36, order never 76, order not 49, past -55, question -43, question be -38, question do -46, question may 25, question should -35, question would 68, subjectless be 17, subjectless want 33, subjectless would -15, want 24, wh -51, would -36
general: - 13
had: then prep -9
has: a -23, all 12, and_ -79, bad -68, be 63, because 64, chat -115, day 40, did -20, dont 86, few 27, had -84, have 53, his -52, if_ 39, ing -28, insist 22, instead 18, it -36, let 68, mark -69, may -65, maybe -88, most 46, must 48, my -68, need 47, never 34, no 44, none 44, noun 59, now -110, one 52, only 26, past -19, please 129, plural 36, prep 56, quoted -21, remember_ 33, say -62, settled 46, should -56, sometimes -8, the 17, there -34, they -30, think -24, verb 36, verbs 27, want 85, was -51, we 16, wh -109, would -85, your 39
have: then a -39, then because -12, then never -73, then noun -14, then prep 72, then say -10, then settled 9, then was -14
if_: now -23
ing: now 77
it: must -22, now -29, would 34
last: I 14, all 39, be 22, chat -54, day 28, few -11, insist 16, it -35, most 9, noun -20, now -55, number -51, one -11, only 53, please 9, plural 16, quoted -43, there -42, they 48, think -15, verb -11, verbs 61
mark: bracket -39, colon 27, comma 84, exclamation -109, question -203
may: then be -12, then never 31
maybe: now -17
must: then never 41, then verb -15
my: now 29
name: now 19, past -28
need: then a 48
no: now 16
none: may 40
noun: past 24, would 14
number: now -12
of: I -86, all 43, if_ -23, ing -13, insist 25, it -58, maybe -62, mys 30, name -17, never -40, no 16, none 32, noun 12, number -19, one -51, past -34, plural 47, say -28, think -12, verb 53, verbs 12, we 10, you -14
order: I -28, a -46, a noun -15, all 9, it prep -39, mark -35, not never 37, not noun 17, not verb 37, noun -27, of keeping 77, of keeping general 53, of keeping particular 24, of once -54, of once general 43, of once particular -97, of other general 70, of other particular -69, plural 22, prep 16, the -61, the noun 21, the verbs -30
pair: I all -9, I be -102, I dont 17, I have -64, I need -33, I think -35, I verb 16, I want 32, I will -119, I would 56, a day 31, be a 25, be bad -23, be ed 45, be ing -44, be insist 23, be it -23, be never 22, be noun -21, be number 20, be the -53, be there -28, do I -32, do you -26, dont verb 53, have ed -37, have number 17, have was -26, if_ I -37, if_ a 53, if_ all 59, if_ ing 8, if_ it -42, if_ noun -25, if_ the -32, if_ we -88, if_ you 90, it all -54, it be 37, it ed -36, it must -24, it verbs 53, it was -17, may you -87, most number 37, must be -44, must never 58, must verb 14, never prep 63, never verb 26, no noun 40, no plural -20, no verbs 10, noun all -34, noun be 35, noun ed -34, noun must 23, noun verbs 42, noun was -15, number noun -12, only verb -11, please dont 12, please verb -43, plural be -20, plural ed 16, plural must 34, plural never 15, plural only -27, plural verb 20, prep all 29, prep day -28, prep future -20, prep now 119, prep number 16, should I -16, should be -23, the day -18, they say -20, they verb 27, verb a -17, verb all 42, verb it 51, verb my -34, verb number -26, verb the 34, verbs all -55, verbs prep 26, want a -21, want it -11, want prep -25, we be 22, we dont 30, we ed 20, we have -24, we may -12, we need -54, we never -31, we verb 69, we will 56, would have -24, would you 65, you be 53, you may -36, you never 25, you say 56, you should 30, you verb 42
past: past -24
plural: may -48, must 16
prep: now 12
should: then never 21
the: may 85, now -59, past -48, should -12
thes: now 8
they: now -36
thing: now 60, now number 61
topic: I 10, all 17, ing -16, it 26, now 27, plural 12, the -58
two: choosing 134, for now -103, insisting 37, judging -123, lasting 42, over -118, past -169, thought -139
verb: now 52, then a -22, then noun -9, then plural 36, then prep 39
verbs: now -50, then a -22, then chat -18, then mark 25, then nothing 33, then number 15, then prep 24, then the -13
want: then noun -14, then prep -53
was: then noun -25
we: doing 21, now 44, past -31, will 73, would -53
will: then noun -27, then verb -17
words: 1-2 -154, 16-25 18, 26- -25, 3-4 29, 5-8 50, 9-15 89
would: then never -27, then noun 22, then prep 9, then verb -34, then want -14
you: may 26, now -35
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
