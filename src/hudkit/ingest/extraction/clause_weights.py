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
I: doing -49, has done 42, may 9, must -23, need -13, now -28, should -22, want 62, would 47
a: name 95, now -19, single thing -22
all: need 64, now -12
alls: now 10
an: authority 17, outsider -69
bare: a -22, all 13, ed -34, ing -33, it -50, most 43, my -39, no 40, noun -29, number 38, one 73, plural 123, prep -9, quoted -47, say 27, the -74, they -47, thing 26, thing number 47, thing prep -11, thing prep number 17, verbs -22, we 28, with prep -16, you -55
be: then a -13, then all 16, then bad -15, then ed 14, then ing -10, then insist 22, then it -21, then never -13, then noun 11, then now 17, then number 67, then plural -35, then prep -42, then the 32, then verb 61, then wh 44
but: not 47
case: I -50, a 78, before 9, behind I 10, behind all -19, behind ing -26, behind mark -43, behind noun 16, behind the -26, behind we -34, behind you 55, the -18, you 15
compared: - -13
do: then never 24, then the 46
dont: then noun -27, then think -60, then verb -12, then want 56
ed: now 23, then I -15, then it -53, then mark 58, then noun -27, then number -36, then prep 27, then the -47, then we 40
ends: open -139
first: I -33, a -54, all 58, and_ 114, bad 44, be -11, because -47, chat -20, dont 10, ed -25, few -44, if_ 58, ing -19, insist 27, it -60, let 17, may -42, maybe -44, most 14, my -36, never 12, no 9, none -23, now -11, number 12, past -36, please -10, plural -20, prep 26, remember_ 57, say -54, should -17, the -9, they -51, think -53, verb 10, verbs 67, we -10, wh -29, would 38, you -13
frame: bare 35, doing -10, has done -19, let I -65, let do 38, let noun -22, let verb 22, may 34, must -28, nothing -23, order 10, order all 42, order never 135, order not 45, past -90, question -59, question be -19, question do -48, question may -12, question should -13, question would 55, subjectless be 14, subjectless want 30, subjectless would -18, want -60, wh -53, will 21, would -37
general: - -31
had: then a -21
has: I -36, a -41, all 24, and_ -52, bad -46, be 24, because 65, chat -79, dont 66, few 21, future 38, had -59, his -74, if_ 17, ing 24, instead 17, it -39, let 82, mark -54, may -39, maybe -123, most 38, must 60, my -26, need 40, never 40, no 37, none 23, noun 17, now -105, one 27, only 41, past -34, please 119, plural 43, prep 37, quoted 26, remember_ 41, say -68, settled 128, should -52, sometimes -25, there -80, they -31, think -44, verb 18, verbs 12, want 70, was -73, we 31, wh -109, will 11, would -62, you 49, your 26
have: then a -64, then ed -10, then noun -11, then number -21, then prep 41, then settled 53, then was -9
if_: now -20, past -16
ing: now 27
it: must -21, past 8, would 16
last: I 24, all 48, bad -15, be 11, chat -64, day 21, do 18, ed -21, few -19, instead 51, it -26, most 30, noun -32, now -17, number 22, only 47, please -43, prep -25, quoted -25, they 27, think -13, verb -11, verbs 39, you 14
mark: bracket -14, colon 37, comma 78, exclamation -72, question -212
may: then never 19, then noun -30
must: then be -21, then never 67, then verb -43
my: now 38, should -21, want -27
name: may 28, now 22, past -52
need: then a 55, then prep -20
never: now -16
no: now 10
none: may 51, now -11
noun: may -37, now 15, past 25, want -35, would 9
of: I 18, all 41, alls -10, bad 30, ed 21, if_ -17, ing -40, insist 25, it -39, maybe -44, most -24, mys 10, never -30, no 15, none 41, now -9, number -42, one -64, past -28, plural 52, prep -44, say -28, the -24, there -8, thes -33, they -20, think -28, verb 32, verbs 27, you -23
one: past -28
order: I -8, a -63, a noun -36, all -38, chat 32, if_ 19, ing 47, it -33, it noun 16, it number 58, it prep -42, mark -20, not never 35, not verb 32, noun -17, of keeping 88, of keeping general 48, of keeping particular 40, of once -49, of once general 8, of once particular -66, of other general 50, of other particular -58, plural 13, prep 70, the -79, the bad -20, the ing -16, the noun 34, the number -37, the plural -12, the verb -14, they 78
pair: I all -11, I be -69, I may 17, I need -53, I think -45, I verb -19, I want 44, I will -42, I would 67, all verb -31, be bad -43, be ed 67, be ing -21, be insist 9, be it -26, be never -16, be now 76, be number 47, be only -12, be plural -32, be prep 11, be the -52, be there -33, day be 21, do I -26, do we -11, do you -41, dont verb 69, have ed -21, have was -43, if_ I -35, if_ a 77, if_ all 38, if_ ing 16, if_ noun -10, if_ the -13, if_ we -90, if_ you 109, it all -47, it be 30, it ed -62, it must -20, it should 27, it verbs -16, it was -25, may we -18, may you -55, most number 40, must be -54, must never 65, must verb 11, never prep 62, never verb -13, no noun 47, no plural 24, no verbs 19, noun all -50, noun be 32, noun ed -28, noun must 18, noun never 13, noun prep 11, noun should -24, noun verbs 42, noun was 27, number day -19, number plural -40, please verb -54, plural must 17, plural never 26, plural only -18, plural prep 37, plural verb 49, prep all 47, prep now 90, prep number 25, the day 16, they all -32, they ed 16, they never -12, they verb 9, verb all 41, verb it 51, verb my -9, verb number -27, verb plural 21, verb the 31, verbs all -15, verbs prep 23, want noun 41, want prep 13, want the 8, we all -41, we dont 20, we ed 18, we have 10, we may -18, we need -17, we never -45, we verb 71, we will 33, would have -40, would you 25, you be 46, you may -48, you must -12, you say 52, you should -20, you verb 12
particular: - -45
past: past -18
plural: may -45, now 33, past 8
prep: now 22, past -33
say: now -17
should: then never 21
the: may 69, must 27, now -20, past -36, should -22, want -20
they: now -46, past 49
thing: now 11, now number 14
topic: I 34, all 38, it 30, my -60, noun 18, now 31, number -14, plural 17, the 16
two: choosing 104, for now -117, insisting 52, judging -58, lasting 56, over -86, past -135, thought -98, with us 105
verb: now 28, then a -28, then ed 16, then it -70, then mark 24, then noun -27, then plural -22, then prep 38, then the -15
verbs: now -46, then a -31, then ed 45, then it 12, then mark 16, then nothing 33, then prep 18, then the 9
want: then a -11, then noun 30, then prep -29, then the -9
was: then a -9, then ed 24, then noun -30
we: need -60, now 73, past -28, will 50, would -41
will: then verb 37
words: 1-2 -179, 16-25 -12, 26- 40, 3-4 -56, 5-8 -15
would: then never -55, then noun 21, then prep 15, then want 25
you: may 18, must 24, now -12
"""
"""By the first word of a name, the rest of it with its weight."""


_TOPIC_START = -30
_TOPIC_TABLE = """
a: bounded allowed 31, bounded asks for work 29, bounded asks more 21, bounded bad -30, bounded by whom 12, bounded dropped -15, bounded ended 31, bounded for myself -9, bounded holds on -11, bounded instead -19, bounded moved 19, bounded no longer 23, bounded now 25, bounded one thing 50, bounded position -29, bounded settled 39, general allowed 35, general asks -23, general asks for work -28, general bad -37, general contrast 15, general dropped 31, general ended 11, general errand -17, general for myself -60, general instead -27, general moved -39, general now -11, general of others -10, general one thing -26, general pleased -34, general position 52, general reasons 22, general so now 17, general then 17, general turned -12, name in common 59, plain allowed -40, plain asks -30, plain asks for work -20, plain asks more 11, plain bad 26, plain by whom -39, plain contrast -40, plain ended -35, plain for myself 23, plain happened 25, plain instead 29, plain moved 14, plain no longer 18, plain now 27, plain one thing -27, plain pleased -43, plain position -14, plain reasons 19, plain settled -11, plain so now 27, plain turned 68, valued asks -10, valued asks more -22, valued bad 37, valued by whom 8, valued contrast 23, valued dropped 44, valued for myself -15, valued happened -14, valued instead 39, valued moved 43, valued no longer 11, valued now 9, valued one thing -23, valued pleased 25, valued reasons -20, valued settled -28, valued so now 10, valued then -10, valued turned -12
age: 0 -27, 1 16
allows: the forbidden far 24, the forbidden half -10, the forbidden near 10
apart: instead 17, now 36
begins: first I -18, first all -27, first and_ -17, first chat 46, first dont -16, first ed 37, first if_ -30, first it 13, first let -24, first most -11, first never -19, first no -49, first noun 27, first now 17, first number 44, first only -13, first prep 22, first the -16, first there -15, first they 33, first verb -37, first verbs -9, first we -33, first you 40
closes: last I -9, last all 32, last bad -8, last chat -31, last few -8, last ing -11, last it -55, last most 9, last noun -22, last number 79, last one 32, last please -31, last prep 28, last verb -37, last verbs -25
common: 0 -52, 1 11, 2 29, 3 26
cue: allowed 27, dropped 53, ended 15, holds on -33, instead 22, moved 37, no longer 49, now 48, once -11, then 15, turned 50
far: fresh allowed 30, fresh asks more -19, fresh bad 33, fresh contrast 19, fresh dropped 68, fresh holds on -20, fresh instead 21, fresh lasting surely -35, fresh moved 26, fresh no longer -9, fresh now 28, fresh once -19, fresh settled 36, fresh then 23, fresh turned 44, older instead -33, older lasting hardly 16, older lasting perhaps -39, older lasting surely -28, older moved -10, older settled -15, older then -10
half: fresh bad -24, fresh ended 42, fresh instead 30, fresh lasting hardly 17, fresh lasting never -8, fresh lasting surely 13, fresh moved 11, fresh now 24, fresh settled -17, fresh then -16, older then 22
lasting: hardly 17, never -39, perhaps -12, surely 9
latest: - -18
manner: adds -13, asks -59, asks for work -23, by whom -22, errand -19, far adds -23, far asks -58, far asks for work 54, far errand -19, far happened 34, far of others -14, far one thing 13, far so now 13, for myself -60, near asks for work -77, near by whom -16, near for myself -63, near happened -36, near one thing -39, near pleased -47, near reasons 29, near so now 27, of others -16, one thing -26, pleased -51, reasons 26, so now 41
near: fresh bad -12, fresh contrast -28, fresh ended -29, fresh holds on -8, fresh lasting hardly -21, fresh lasting never -46, fresh lasting perhaps 12, fresh lasting surely 58, fresh moved 10, fresh no longer 53, fresh now -12, fresh settled -11, fresh then -28
no: cue -78
place: far latest -25, far older -48, half latest 24
points: fresh 47, older 15
rival: - 86
section: decisions 22, preferences -33
sentence: first all -27, first and_ -14, first because 42, first chat 13, first dont -16, first ed 37, first if_ 24, first ing 24, first it -19, first most -17, first my 14, first never -25, first no -25, first noun 42, first number 77, first one 9, first past 42, first plural 69, first prep -17, first there -16, first they 33, first verb 39, first you 26, frame bare 67, frame doing 31, frame has done -12, frame let verb 14, frame may 86, frame must -21, frame need -18, frame now 24, frame order 10, frame order never -14, frame order not -22, frame past 80, frame question 19, frame should -9, frame want -18, frame will 21, frame would 27, has I -12, has a -50, has and_ -62, has bad -94, has because 22, has day 43, has did -20, has do 51, has dont -9, has ed 26, has few 64, has have 13, has his -31, has if_ -39, has insist 27, has it -18, has mark 24, has may -9, has most -23, has must -33, has need 31, has never -12, has no -10, has none -30, has noun -21, has now -48, has number -46, has one 16, has only 29, has past 33, has please -21, has plural -54, has remember_ -36, has settled -84, has should -11, has sometimes -25, has the -19, has there 23, has think 39, has verb -45, has verbs 8, has want 48, has was -41, has we 28, has wh -20, has would 25, has your 12, last all 32, last bad -8, last chat -34, last ed -12, last few -8, last ing -11, last it -44, last most 9, last noun 20, last number 40, last one 32, last please -31, last prep 28, last verb -37, last verbs -25, mark bracket 9, mark colon 11, mark comma 26, mark exclamation 30, of a 15, of all -17, of if_ -13, of insist 8, of most -13, of name 54, of never -8, of none -8, of noun 26, of now 20, of number 9, of one 31, of plural 13, of prep 33, of the -17, of there -16, of verbs 29, of we 39, of you 19, pair I be 12, pair I ed -34, pair I may -31, pair I think -41, pair I verb 77, pair I want -43, pair I would -8, pair a day 40, pair be a -21, pair be all -11, pair be bad -72, pair be ed 25, pair be ing 52, pair be never 26, pair be number -30, pair be only 23, pair be the -14, pair day be 34, pair dont verb -14, pair have ed -25, pair have number -32, pair have was 11, pair if_ I -15, pair if_ all 29, pair if_ it -44, pair if_ noun 31, pair if_ the -26, pair if_ they 14, pair if_ you 34, pair it be -41, pair it ed -39, pair it verbs -38, pair may you -40, pair must verb -11, pair never prep 20, pair no noun 11, pair no plural -11, pair noun all 19, pair noun ed 43, pair noun never 22, pair noun prep -46, pair noun verbs -33, pair noun was 17, pair number noun -20, pair number plural -27, pair only verb 36, pair please verb -43, pair plural be 13, pair plural only -10, pair plural prep -29, pair prep all -43, pair prep day -42, pair prep now 19, pair prep number -11, pair the day -18, pair they say 28, pair verb it 66, pair verb my -34, pair verb number 16, pair verb plural 44, pair verb the -37, pair verbs prep -33, pair want a -11, pair want it 41, pair want noun 11, pair want prep -28, pair want the -26, pair we be 31, pair we dont -10, pair we ed 51, pair we have 37, pair we may 29, pair we verb -39, pair you may 33, pair you verb -18, two choosing -104, two for now -51, two judging 10, two lasting -34, two over 70, two past -23, two thought -14
settles: the bounded half 21, the bounded near 16
share: half -16, most 55, none -52, some 24
states: 0 far -57, 0 near 33, 1 far -31, 1 half 39, 2 far 21, of the same 125
value: other far 118, other near 46, same far 83, same near 36
within: asks more 30, bad -36, contrast -20, ended 21, holds on 18, instead 18, moved 13, no longer 49, now -11, once 9, settled -16, then 11, turned -28
words: -4 22, -40 -8, -9 -23
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
