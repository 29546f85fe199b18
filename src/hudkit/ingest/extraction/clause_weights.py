"""How much each thing that a sentence or a message has speaks for what is asked of it, in hundredths of a logit.

Learned by a logistic regression (decision 41); `python -m bench.recorder_weights --write` learns the first table anew. Not
to be edited by hand.
"""

# ruff: noqa: E501 (a table)
from __future__ import annotations

from functools import cache

_START = -43
"""What a sentence of which nothing is found has."""

_TABLE = """
I: doing -49, has done 52, may 9, must -23, need -14, now -28, should -22, want 59, would 46
a: name 94, now -19, single thing -23
all: need 64, now -13
alls: now 10
an: authority 16, outsider -69
bare: a -22, all 13, ed -34, ing -32, it -50, most 43, my -39, no 41, noun -30, number 38, one 73, plural 123, prep -9, quoted -47, say 26, the -74, they -47, thing 26, thing number 46, thing prep -11, thing prep number 17, verbs -22, we 28, with prep -16, you -55
be: then a -13, then all 16, then bad -15, then ed 14, then ing -10, then insist 22, then it -20, then never -13, then noun 12, then now 16, then number 67, then plural -35, then prep -42, then the 32, then verb 61, then wh 44
but: not 47
case: I -50, a 78, before 9, behind I 10, behind all -19, behind ing -26, behind mark -43, behind noun 16, behind the -25, behind we -35, behind you 55, the -19, you 15
compared: - -14
do: then never 24, then the 46
dont: then noun -27, then think -60, then verb -12, then want 55
ed: now 23, then I -15, then it -52, then mark 57, then noun -27, then number -36, then prep 27, then the -47, then we 40
ends: open -140
first: I -34, a -55, all 58, and_ 116, bad 44, be -11, because -47, chat -19, dont 11, ed -25, few -44, if_ 58, ing -23, insist 27, it -60, let 17, may -42, maybe -44, most 14, my -35, never 12, no 9, none -23, now -9, number 11, past -36, please -10, plural -20, prep 26, remember_ 57, say -54, should -17, the -9, they -51, think -53, verb 11, verbs 68, we -10, wh -28, would 38, you -12
frame: bare 35, doing -10, has done -16, let I -65, let do 38, let noun -22, let verb 21, may 33, must -27, nothing -24, order 10, order all 42, order never 135, order not 45, past -90, question -59, question be -19, question do -48, question may -12, question should -13, question would 55, subjectless be 14, subjectless want 29, subjectless would -18, want -61, wh -53, will 21, would -37
general: - -32
had: then a -21
has: I -36, a -39, all 24, and_ -51, bad -46, be 24, because 64, chat -79, dont 65, few 22, future 38, had -59, his -74, if_ 16, ing 26, instead 17, it -39, let 82, mark -53, may -38, maybe -124, most 37, must 60, my -28, need 39, never 40, no 36, none 23, noun 17, now -104, one 26, only 41, past -35, please 118, plural 43, prep 37, quoted 26, remember_ 40, say -68, settled 128, should -52, sometimes -26, there -81, they -31, think -44, verb 18, verbs 11, want 71, was -73, we 30, wh -109, will 10, would -62, you 48, your 26
have: then a -61, then no -8, then noun -11, then number -20, then prep 41, then settled 53, then was -12
if_: now -20, past -16
ing: now 30
it: must -21, past 8, would 16
last: I 24, all 48, bad -15, be 11, chat -64, day 21, do 18, ed -21, few -20, insist -8, instead 51, it -26, most 30, noun -32, now -18, number 23, only 47, please -43, prep -20, quoted -26, they 27, think -13, verb -11, verbs 38, you 14
mark: bracket -14, colon 38, comma 78, exclamation -73, question -212
may: then never 19, then noun -30
must: then be -21, then never 67, then verb -43
my: now 39, should -21, want -27
name: may 28, now 22, past -51
need: then a 55, then prep -20
never: now -17
no: now 10
none: may 51, now -11
noun: may -37, now 15, past 25, want -35, would 10
of: I 21, a -8, all 40, alls -10, bad 30, ed 21, if_ -17, ing -37, insist 25, it -40, maybe -44, most -24, mys 11, never -30, no 15, none 41, number -43, one -64, past -28, plural 52, prep -44, say -28, the -24, there -8, thes -34, they -21, think -28, verb 32, verbs 27, you -23
one: past -28
order: I -9, a -63, a noun -36, all -38, chat 32, if_ 19, ing 53, it -33, it noun 17, it number 58, it prep -42, mark -21, not never 35, not verb 32, noun -17, of keeping 88, of keeping general 48, of keeping particular 40, of once -49, of once general 9, of once particular -67, of other general 50, of other particular -58, plural 13, prep 69, the -79, the bad -19, the ing -17, the noun 34, the number -37, the plural -12, the verb -13, they 78
pair: I all -11, I be -68, I may 16, I need -53, I think -45, I verb -20, I want 44, I will -42, I would 66, all verb -31, be bad -43, be ed 66, be ing -22, be insist 9, be it -26, be never -16, be now 80, be number 46, be only -12, be plural -32, be prep 10, be the -53, be there -33, day be 21, do I -24, do we -11, do you -41, dont verb 69, have ed -18, have was -45, if_ I -35, if_ a 77, if_ all 38, if_ ing 16, if_ noun -10, if_ the -12, if_ we -91, if_ you 110, it all -46, it be 31, it ed -62, it must -20, it should 27, it verbs -15, it was -24, may we -18, may you -55, most number 40, must be -54, must never 65, must verb 11, never prep 62, never verb -13, no noun 47, no plural 24, no verbs 19, noun all -49, noun be 31, noun ed -28, noun must 18, noun never 12, noun prep 11, noun should -24, noun verbs 42, noun was 27, number day -19, number plural -39, please verb -54, plural must 18, plural never 26, plural only -18, plural prep 38, plural verb 49, prep all 46, prep now 90, prep number 24, the day 15, they all -32, they ed 16, they never -12, they verb 9, verb a -8, verb all 41, verb it 50, verb my -9, verb number -27, verb plural 21, verb the 30, verbs all -15, verbs prep 22, want noun 41, want prep 15, want the 8, we all -41, we dont 21, we ed 18, we have 8, we may -18, we need -17, we never -45, we verb 71, we will 33, would have -40, would you 25, you be 45, you may -49, you must -12, you say 52, you should -20, you verb 12
particular: - -45
past: past -18
plural: may -45, now 33
prep: now 22, past -33
say: now -17
should: then never 21
the: may 69, must 28, now -20, past -36, should -22, want -21
they: now -46, past 49
thing: now 11, now number 14
topic: I 34, all 38, it 30, my -59, noun 17, now 31, number -14, plural 18, the 15
two: choosing 104, for now -117, insisting 52, judging -59, lasting 55, over -86, past -135, thought -97, with us 105
verb: now 27, then a -28, then ed 16, then it -70, then mark 24, then noun -27, then plural -22, then prep 38, then the -15
verbs: now -46, then a -31, then ed 45, then it 12, then mark 16, then nothing 33, then prep 18, then the 9
want: then a -12, then noun 30, then prep -30, then the -9
was: then a -9, then ed 24, then noun -30
we: need -60, now 74, past -27, will 51, would -40
will: then verb 37
words: 1-2 -178, 16-25 -12, 26- 38, 3-4 -55, 5-8 -15
would: then never -55, then noun 21, then prep 14, then want 25
you: may 18, must 24, now -12
"""
"""By the first word of a name, the rest of it with its weight."""


_TOPIC_START = -10
_TOPIC_TABLE = """
a: name in common 86
age: 0 -13, 1 21
allows: the forbidden far 49, the forbidden half -14, the forbidden near 29
apart: instead 14, now 30
begins: first I -9, first all -15, first and_ -19, first chat 36, first ed 38, first if_ -25, first it -11, first let -9, first never -10, first no -33, first now 12, first number 38, first please 13, first plural 15, first prep -12, first the -14, first there -14, first they 30, first verb -33, first you 33
closes: last all 36, last bad -13, last chat -26, last ed 8, last few -13, last it -44, last noun -14, last number 78, last one 30, last please -33, last plural 14, last prep 39, last verb -42, last verbs -29
common: 0 -40, 2 42, 3 28
cue: allowed 29, asks more 19, bad -8, dropped 40, ended 16, holds on -28, instead 43, moved 38, no longer 26, now 40, turned 48
far: fresh allowed 19, fresh asks more 12, fresh bad 29, fresh contrast 14, fresh dropped 58, fresh holds on -19, fresh instead 27, fresh lasting never -10, fresh lasting perhaps 13, fresh moved 32, fresh no longer -20, fresh now 14, fresh once -12, fresh settled 22, fresh turned 32, older instead -25, older lasting perhaps -43, older lasting surely -11, older moved -12, older position 13, older then -8
half: fresh bad -22, fresh dropped -9, fresh ended 29, fresh instead 22, fresh lasting hardly 17, fresh lasting never -16, fresh lasting perhaps -10, fresh lasting surely 24, fresh now 20, fresh position -11, fresh settled -13, fresh then -23, fresh turned 21, older then 27
lasting: hardly 13, never -42, perhaps -15, surely 51
manner: adds -38, asks -62, asks for work -36, by whom -19, errand -18, far adds -44, far asks -56, far asks for work 37, far errand -18, far happened 27, far of others -21, far pleased -22, for myself -65, happened -19, near asks for work -73, near by whom -21, near for myself -70, near happened -46, near one thing -48, near pleased -45, near reasons 40, near so now 32, of others -21, one thing -45, pleased -67, reasons 33, so now 33
near: fresh bad -15, fresh contrast -36, fresh ended -22, fresh lasting never -32, fresh lasting surely 28, fresh moved 11, fresh no longer 45, fresh settled -15, fresh then -21, fresh turned -11
no: cue -72
place: far latest -10, far older -43, half latest 16, half older 11
points: fresh 25, older 8
rival: - 52
section: decisions 27, notes 10, preferences -40
sentence: first all -25, first and_ -15, first because 43, first chat -10, first ed 38, first few -9, first if_ 24, first ing 17, first it -16, first most -9, first my 14, first never -15, first no -13, first noun 29, first number 72, first only 16, first past 43, first please 13, first plural 68, first prep -39, first the 10, first there -15, first they 19, first verb 35, first we 24, first you 12, frame bare 55, frame doing 31, frame let noun -10, frame let verb 36, frame may 54, frame must -20, frame need -14, frame now 17, frame order not -15, frame past 70, frame question 30, frame should -8, frame want -18, frame will 24, frame would 29, has I -20, has a -72, has all 8, has and_ -62, has bad -113, has be -15, has because 13, has day 24, has did -24, has do 32, has dont -15, has few 32, has had 16, has his -20, has if_ -37, has ing -14, has let -14, has mark 29, has most -11, has must -33, has my 8, has need 20, has never -22, has no -22, has now -30, has number -46, has one 13, has only 32, has past 26, has please -23, has plural -45, has remember_ -43, has settled -36, has should -14, has sometimes -33, has the -42, has think 15, has verb -27, has verbs 11, has want 35, has was -32, has we 26, has would 24, has your 14, last all 36, last bad -13, last chat -29, last few -13, last it -29, last noun 20, last number 46, last one 30, last please -33, last plural 10, last prep 39, last verb -42, last verbs -29, mark bracket 20, mark colon 20, mark comma 18, mark exclamation 29, of all -19, of if_ -13, of it -8, of most -8, of name 63, of never -8, of noun 43, of now 16, of one 19, of plural 26, of prep 24, of there -15, of verbs 24, of we 24, of you 18, pair I dont -9, pair I ed -18, pair I have 17, pair I may -22, pair I need -14, pair I think -33, pair I verb 73, pair I want -20, pair I will -11, pair I would -9, pair a day 58, pair all verb -28, pair be a -21, pair be bad -75, pair be ed 29, pair be ing 49, pair be insist -40, pair be never 36, pair be noun -14, pair be number -19, pair be only 15, pair day be 38, pair have ed -14, pair have number -33, pair have was 13, pair if_ I -29, pair if_ all 26, pair if_ it -26, pair if_ noun 38, pair if_ the -8, pair if_ they 10, pair if_ we -8, pair if_ you 27, pair it be -38, pair it ed -17, pair it verbs -54, pair it was -9, pair may you -40, pair must verb -9, pair never verb 17, pair noun all 19, pair noun ed 35, pair noun never 10, pair noun prep -25, pair noun verbs -34, pair noun was 18, pair number noun -28, pair number plural -36, pair only verb 38, pair please verb -28, pair plural be 12, pair plural prep -39, pair plural verb -22, pair prep all -31, pair prep day -51, pair prep number -16, pair the day -15, pair they say 18, pair verb a -15, pair verb all 14, pair verb it 42, pair verb number -15, pair verb plural 27, pair verb the -43, pair verbs prep -37, pair want a -11, pair want it 34, pair want prep -32, pair want the -26, pair we be 19, pair we ed 29, pair we have 16, pair we may 35, pair we need -10, pair we verb -21, pair you may 24, pair you verb -15, two choosing -104, two for now -35, two insisting -17, two lasting -38, two over 75, two past -20, two thought -30
settles: the bounded far 17, the bounded half 30
share: half -13, most 47, none -40, some 31
states: 0 far -90, 0 near 26, 1 far 17, 1 half 32, 2 far 30, of the same 93
value: other far 52, other half 20, other near 41, same far 49
within: asks more 21, bad -37, contrast -26, ended 26, holds on 18, instead 28, moved 10, no longer 43, once 11, then 16, turned -25
words: -20 -12, -4 58, -40 -27, -9 -11
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
