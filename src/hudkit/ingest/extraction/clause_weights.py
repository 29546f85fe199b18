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


_TOPIC_START = -29
_TOPIC_TABLE = """
a: bounded allowed 35, bounded asks for work 19, bounded asks more 19, bounded by whom 14, bounded ended 27, bounded for myself -9, bounded holds on -12, bounded instead -15, bounded no longer 23, bounded now 28, bounded one thing 49, bounded position -32, bounded settled 46, general allowed 17, general asks -24, general asks for work -29, general bad -25, general contrast 15, general dropped 29, general ended 12, general errand -15, general for myself -66, general instead -21, general moved -30, general now -17, general once 8, general one thing -21, general pleased -33, general position 42, general reasons 25, general so now 18, general then 15, general turned -12, name in common 69, plain allowed -27, plain asks -29, plain asks for work -18, plain bad 12, plain by whom -39, plain contrast -35, plain dropped -9, plain ended -29, plain for myself 31, plain happened 23, plain holds on -8, plain instead 30, plain moved 14, plain no longer 21, plain now 20, plain one thing -35, plain pleased -40, plain position -9, plain reasons 20, plain settled -15, plain so now 22, plain then 15, plain turned 54, valued asks more -21, valued bad 31, valued contrast 9, valued dropped 49, valued ended 10, valued for myself -19, valued happened -20, valued holds on -15, valued instead 30, valued moved 48, valued no longer 14, valued now 11, valued one thing -19, valued pleased 24, valued reasons -22, valued settled -29, valued so now 10, valued then -20, valued turned -15
age: 0 -28, 1 17
allows: the forbidden far 17, the forbidden half -14
alone: - -14
apart: instead 11, now 35
begins: first I -22, first all -25, first and_ -18, first chat 51, first dont -13, first ed 36, first if_ -28, first it 10, first let -28, first most -19, first never -17, first no -46, first noun 24, first now 19, first number 49, first only -20, first prep 21, first the -10, first there -16, first they 32, first verb -32, first we -26, first you 38
closes: last all 34, last chat -30, last ing -10, last it -61, last noun -19, last number 78, last one 32, last please -31, last plural 11, last prep 27, last verb -36, last verbs -25
common: 0 -52, 1 10, 2 29, 3 28
cue: allowed 30, dropped 55, ended 19, holds on -41, instead 24, moved 36, no longer 54, now 41, once -14, then 14, turned 50
far: fresh allowed 32, fresh asks more -14, fresh bad 37, fresh dropped 67, fresh holds on -26, fresh instead 18, fresh lasting hardly 13, fresh lasting surely -39, fresh moved 28, fresh now 25, fresh once -23, fresh settled 38, fresh then 25, fresh turned 41, older allowed -9, older asks more -9, older instead -31, older lasting hardly 15, older lasting perhaps -39, older lasting surely -32, older moved -13, older now -12, older settled -17, older then -10
half: fresh bad -24, fresh ended 43, fresh instead 29, fresh lasting hardly 19, fresh lasting perhaps -8, fresh lasting surely 16, fresh moved 9, fresh now 27, fresh settled -16, fresh then -15, fresh turned 8, older then 18
lasting: hardly 19, never -38, perhaps -16, surely 12
latest: - -17
manner: adds -15, asks -54, asks for work -24, by whom -17, errand -18, far adds -23, far asks -57, far asks for work 50, far by whom -8, far errand -18, far happened 30, far of others -15, far one thing 12, far so now 14, for myself -63, near asks for work -74, near by whom -9, near for myself -66, near happened -33, near one thing -38, near pleased -46, near reasons 33, near so now 28, of others -15, one thing -26, pleased -51, reasons 25, so now 42
near: fresh allowed -12, fresh bad -12, fresh contrast -25, fresh ended -29, fresh holds on -8, fresh lasting hardly -22, fresh lasting never -44, fresh lasting perhaps 12, fresh lasting surely 60, fresh moved 15, fresh no longer 55, fresh now -10, fresh settled -10, fresh then -26
no: cue -81
place: far latest -24, far older -51, half latest 20, half older 8, near latest 10
points: fresh 50, older 15
rival: - 84
section: decisions 26, preferences -35
sentence: first a -11, first all -26, first and_ -16, first because 42, first chat 8, first dont -13, first ed 36, first if_ 26, first ing 29, first it -22, first most -23, first my 12, first never -22, first no -25, first noun 44, first number 78, first one 9, first past 39, first plural 69, first prep -20, first the 11, first there -17, first they 31, first verb 41, first you 23, frame bare 69, frame doing 31, frame has done -8, frame let do -12, frame let noun -11, frame let verb 23, frame may 90, frame must -20, frame need -22, frame now 19, frame order never -17, frame order not -20, frame past 78, frame should -10, frame want -14, frame will 25, frame would 26, has I -9, has a -47, has all -9, has and_ -56, has bad -90, has because 19, has day 33, has did -17, has do 50, has dont -9, has ed 21, has few 56, has had -13, has have 10, has his -35, has if_ -45, has insist 29, has instead -33, has it -11, has mark 21, has may -16, has most -28, has must -31, has need 26, has never -13, has no -14, has none -30, has noun -20, has now -40, has number -51, has one 12, has only 31, has past 38, has please -24, has plural -50, has remember_ -36, has settled -72, has should -13, has sometimes -31, has the -26, has there 18, has think 30, has verb -44, has verbs 11, has want 45, has was -47, has we 29, has would 22, has your 11, last all 34, last chat -33, last ed -13, last ing -10, last it -50, last noun 22, last number 39, last one 32, last please -31, last plural 9, last prep 27, last verb -36, last verbs -25, mark comma 32, mark exclamation 34, of a 13, of all -13, of if_ -12, of insist 8, of most -21, of name 54, of no -11, of none -9, of noun 30, of now 23, of one 25, of plural 17, of prep 28, of the -19, of there -17, of verbs 32, of we 36, of you 18, pair I be 16, pair I ed -32, pair I may -28, pair I think -43, pair I verb 77, pair I want -39, pair I would -11, pair a day 39, pair all verb -15, pair be a -16, pair be bad -75, pair be ed 18, pair be ing 50, pair be insist -13, pair be never 29, pair be number -35, pair be only 17, pair be plural -8, pair be the -14, pair day be 38, pair dont verb -11, pair have ed -18, pair have number -26, pair have was 9, pair if_ I -16, pair if_ all 29, pair if_ it -44, pair if_ noun 26, pair if_ the -24, pair if_ they 15, pair if_ you 37, pair it be -32, pair it ed -39, pair it verbs -36, pair it was -12, pair may you -47, pair must verb -9, pair never prep 14, pair no few -13, pair no plural -9, pair noun all 9, pair noun ed 41, pair noun never 23, pair noun prep -46, pair noun verbs -36, pair noun was 16, pair number noun -24, pair number plural -24, pair only verb 34, pair please verb -46, pair plural be 15, pair plural prep -37, pair prep all -32, pair prep day -40, pair prep now 22, pair prep number -17, pair the day -18, pair they say 28, pair verb a -17, pair verb all -12, pair verb it 70, pair verb my -24, pair verb number 8, pair verb plural 40, pair verb the -27, pair verbs prep -34, pair want it 39, pair want noun 14, pair want prep -23, pair want the -29, pair we be 25, pair we ed 52, pair we have 30, pair we may 38, pair we verb -39, pair would have 26, pair you may 37, pair you verb -17, two choosing -107, two for now -53, two insisting -11, two judging 16, two lasting -37, two over 69, two past -23, two thought -15
settles: the bounded far 10, the bounded half 20, the bounded near 16
share: half -14, most 52, none -52, some 27
states: 0 far -56, 0 near 29, 1 far -23, 1 half 33, 2 far 11, of the same 120
value: other far 113, other half 25, other near 51, same far 72, same near 37
within: allowed 9, asks more 29, bad -36, contrast -16, ended 23, holds on 17, instead 27, moved 16, no longer 49, once 9, settled -16, then 8, turned -27
words: -4 22, -40 -10, -9 -20
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
