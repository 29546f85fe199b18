"""The closed classes of words by which `clause_grammar` reads a sentence: lists, and nothing else.

A list is as complete as a grammar or a thesaurus has it, and not made for single sentences. A word is in one class of
`CLASSES`; the other lists are beside them.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLASSES = {
    "I": """
    i im ive me myself
    """,
    "we": """
    we us ourselves
    """,
    "you": """
    you u ya y'all yourself
    """,
    "it": """
    it its itself that this these those
    """,
    "they": """
    he she they him her them himself herself themselves
    """,
    "one": """
    one ones somebody someone anybody anyone everybody everyone
    """,
    "none": """
    nobody nothing none nowhere no-one
    """,
    "never": """
    neither n't never not nor without
    """,
    "all": """
    all every each any both everything anything whatever whoever everywhere always whichever
    """,
    "my": """
    my our mine ours
    """,
    "your": """
    your yours ur
    """,
    "his": """
    his hers their theirs
    """,
    "the": """
    the
    """,
    "a": """
    a an another some
    """,
    "few": """
    many several few much more less fewer enough plenty lots half
    """,
    "most": """
    most max maximum min minimum least tops limit limited cap capped ceiling exactly latest earliest sharp
    """,
    "no": """
    no zero
    """,
    "there": """
    there
    """,
    "be": """
    is are am 're 's 'm be being ain't isnt arent
    """,
    "was": """
    was were been wasnt
    """,
    "must": """
    must shall sha mustnt
    """,
    "should": """
    should ought
    """,
    "may": """
    may can cannot ca cant
    """,
    "would": """
    would could might 'd
    """,
    "will": """
    will wo gonna wont 'll
    """,
    "have": """
    have has 've
    """,
    "had": """
    had
    """,
    "do": """
    do does doesnt
    """,
    "dont": """
    don't dont
    """,
    "did": """
    did didnt
    """,
    "need": """
    need needs requires
    """,
    "insist": """
    require insist insists required mandatory forbidden forbids prohibited obligatory compulsory policy policies
    rule rules law legal contract convention standard compliance regs regulation regulations sacred off-limits
    essential important crucial vital insisted allowed permitted agreed binding
    """,
    "let": """
    let let's lets
    """,
    "want": """
    want wants prefer prefers likes love loves hate hates dislike dislikes enjoy enjoys rather favour favor
    appreciate
    """,
    "prep": """
    like in on at to for with by from of into onto through via under over above below within about against
    between per during across beyond except than inside outside up down off out behind besides around near
    """,
    "please": """
    please pls plz kindly
    """,
    "only": """
    only solely exclusively merely just strictly
    """,
    "if_": """
    if when whenever unless once until till while before after wherever where whether should-
    """,
    "because": """
    because since cause cos as so therefore hence thus otherwise
    """,
    "and_": """
    and but or plus though although however
    """,
    "now": """
    yet now today tonight tomorrow currently already still again soon later immediately asap finally
    """,
    "wh": """
    what how why who which whose
    """,
    "past": """
    yesterday ago earlier recently formerly previously last once-upon back
    """,
    "sometimes": """
    sometimes often usually mostly normally generally occasionally rarely typically
    """,
    "maybe": """
    maybe perhaps possibly probably apparently seemingly likely supposedly hopefully ideally somehow
    """,
    "think": """
    think guess suppose believe wonder hope feel assume imagine doubt reckon know knew understand forgot mean
    means
    """,
    "remember_": """
    remember note fyi reminder reference keep-in-mind mind record noted
    """,
    "say": """
    say says said tell tells told write writes wrote claim claims claimed heard recommends suggests suggested
    asked mentioned argues complained laughed quote quoted
    """,
    "settled": """
    decided decide decision settled final settle chose chosen choose picked pick opted winner verdict going-with
    locked
    """,
    "chat": """
    hi hey hello morning thanks thank thx cheers great nice cool lovely awesome amazing lol haha hehe ugh wow
    oops yay sorry yes yeah yep nope nah ok okay sure hm hmm well damn funny joke kidding bye welcome congrats
    fun glad happy
    """,
    "bad": """
    wrong broken broke fails fail failed failing crash crashes crashed error errors bug bugs slow stuck weird
    strange missing lost problem problems trouble issue issues mess disaster terrible awful annoying late red
    empty duplicate hangs flaky worse sad ugly forever delayed furious mistake typo
    """,
    "instead": """
    instead
    """,
    "future": """
    future onwards onward forward further henceforth
    """,
}
"""The small words by their class: of each class all that English has, or nearly."""

IRREGULAR = _words(
    """
    ate became began bought broke brought built came caught chose dealt drank drew drove fell felt flew forgot
    found gave got grew heard held kept knew led lost made meant met paid ran said sat saw sent slept sold spent
    spoke stood taught thought threw told took understood went woke won wore wrote
    """
)
"""Pasts that do not end like one."""

OTHER_VERBS = _words(
    """
    accept apologise apologize arrive attend audit bake bear become behave belong bill bleed board boil borrow
    breed brew bring buy can carve chill clean cook cool cost count dance depend deposit dose drill drink drive
    dry eat embed end exceed exist face feed film finish fit fly follow freeze fry get give go greet grill grow
    happen harvest hear heat help hire hold hurt include inject insist insure invest invite iron isolate keep
    knit label last lay lead learn leave lend lie live lock lose make matter mean measure meet mow need owe own
    paint park pay perform plant play pour proceed promise quote rain reach receive rehearse rent rest ride
    rinse rise run sand saw seed sell sew shall shine shoot shred sing sit sketch sleep smell sound speak speed
    spend stand stay sterilise sterilize succeed suit swab swim tax teach thank transfer travel unlock use visit
    wash water wear weed weigh welcome weld win withdraw work
    """
)
"""Verbs of life beside those of `lexicon.VERBS`."""

TIME_NOUNS = _words(
    """
    afternoon april august day days december evening february friday fridays hour hours january july june march
    midnight minute minutes monday mondays month months morning night noon november october quarter saturday
    saturdays season september sunday sundays thursday thursdays tuesday tuesdays wednesday wednesdays week
    weekday weekdays weekend weekends weeks year years
    """
)
"""Days, months and spans."""

NUMBER_WORDS = _words(
    """
    dozen eight eleven fifteen fifty five forty four grand hundred million nine seven six sixty ten thirty
    thousand three twelve twenty two
    """
)
"""Numbers in words."""

ONCE_VERBS = _words(
    """
    add adjust analyse analyze answer ask attach begin book bring build buy calculate call cancel change check
    clean close commit compare compute confirm continue convert cook copy count create debug delete deploy
    describe design do download draft draw edit email enter explain export extend fax feed fetch fill find
    finish fix forward generate get give go grab hand have help implement import improve insert install invite
    let list load look mail make mark merge move open order outline paint paste pick plan plot point post
    prepare print profile proofread provide pull push put read recommend refactor register remind remove rename
    reopen replace reply rerun reset resize restart restore retry revert review rewrite rotate run save scan
    schedule search see send set shorten show sign sort speed start stop submit suggest sum summarise summarize
    swap take talk tell test think tidy translate try turn undo update upload wait wash water write
    """
)
"""Verbs of what is done once: an order with one asks for work, unless something in it says that it is for more."""

KEEPING_VERBS = _words(
    """
    abbreviate address aim anonymise anonymize archive assume avoid base bill blur call cap capitalise
    capitalize charge cite consult count date defer encrypt escape exclude express follow format go greet group
    hash hide hold honor honour ignore indent keep label leave limit live log mask match measure mirror mock
    name number obey omit pay pin prefer preserve price pseudonymise quote redact refer rely report reserve
    respect restrict retain reuse round serve skip speak spell squash state stay stick store take talk target
    treat trust use validate wrap write
    """
)
"""Verbs of how something is done or held."""

OUTSIDERS = _words(
    """
    agency article aunt blog book brother colleague colleagues competitor competitors cousin critics dad
    daughter docs father film friend friends grandma grandmother grandpa guy guys husband intern interns kid
    kids lady man manual mom mother movie mum neighbor neighbour neighbours novel people poster predecessor sign
    sister someone son student students teacher texas tourists tutorial uncle wife wikipedia woman
    """
)
"""Who is told of, and orders nothing here."""

WORK_NOUNS = _words(
    """
    appointment bug button chapter chart column commit copy diff dinner draft file flight footer function header
    hotel icon image invoice letter line list mail meeting page paragraph photo picture question reminder report
    row screenshot section sentence slide summary table test ticket title typo version
    """
)
"""Single things that work is done on."""

AUTHORITY = _words(
    """
    accountant accountants auditor auditors bank board bookkeeper boss ceo client clients committee compliance
    council cto customer dba doctor editor ethics finance head insurance insurer journal landlord lead legal
    management manager marketing ministry partners principal publisher regulator school security sponsor
    supervisor team union vet
    """
)
"""Who may order, when the user tells what they want."""

COMPARED = _words(
    """
    best better cheaper easier faster less more nicer rather slower worse worst
    """
)
"""Words that compare."""

BASES = _words(
    """
    big bigg cheap clean clear cold dark deep earl fast hard high large late light long loud low neat new nic
    old quick saf safe short simpl slow small smart soft strong tight warm weak wid wide
    """
)
"""Words of which one with "er" compares."""

TWO_WORDS = {
    "past": """
    used to; back then; once upon; last year; last week; last month; last night; last time; previous job; old
    days; must have; should have; could have; would have; had to; no idea; no need; no worries; no problem; no
    wonder; no clue; no rush; no joke; no matter
    """,
    "thought": """
    in theory; what if; if only; i believe; i think; i guess; i suppose; as always; decided nothing; nothing
    yet; sort of; kind of; looks like; seems to; seems like; not sure; no doubt; think about; thinking about;
    thinking of; have to; need to; want to; going to; trying to; able to; supposed to; hard to; easy to; a bit;
    like a; it's like
    """,
    "lasting": """
    from now; now on; going forward; in future; the future; at all; by default; no exceptions; no exception;
    every time; each time; in general; as usual; without exception; at least; at most; up to; or less; or more;
    rather than; instead of; other than; nothing else; nobody else; no later; no earlier; no sooner; not even;
    by hand; unless otherwise; off limits; hands off
    """,
    "over": """
    no more; is over; no longer; any more; any longer; after all; forget that; forget about; forget the; is
    gone; are gone; not necessary; don't have; take back; may now; can now; allowed again; fine again; you may;
    you can; feel free; go ahead; changed my; change of; on reflection; second thought; second thoughts
    """,
    "insisting": """
    i mean; i insist; i said; make sure; be sure; see to; that's settled; locked in; keep in; in mind; stick to;
    house style; house rule; our policy; company policy; company rule; has to; have-to to; needs to; is to; are
    to; for good
    """,
    "with us": """
    this team; our team; this project; our project; this house; our house; this lab; our lab; this
    office; our office; this company; our company; this family; our family; this repo; our repo; this codebase; our
    codebase; this school; our school; this shop; our shop; this kitchen; our kitchen; this department; our
    department; our side; around here; over here; with us; at ours; this club; our club; this practice; our practice
    """,
    "choosing": """
    going with; go with; went with; gone with; go for; going for; settled on; settled for; made my; my mind; it
    is; we'll take; i'll take; let's go; let's use; let's keep; let's drop; sticking with; stick with; switching
    to; moving to; of choice; the plan; plan is; is final
    """,
    "judging": """
    makes sense; make sense; sounds like; sounds good; looks good; looks fine; good idea; great idea; i agree; i
    see; of course; fair enough; good point; is fine; are fine; is enough; is easier; is better; is nice; all
    right; feels right; you're right; that's right; this approach; that approach; these steps; those steps;
    these changes; too slow; too much; too many; too long; too big; my goal; the goal; i'd love
    """,
    "for now": """
    that one; this one; for now; another day; this time; right now; at once; by friday; by monday; by tomorrow;
    by noon; by lunch; for tomorrow; for friday; for monday; for today; first ten; the second; the first; the
    next; the last; the attached; the other; one more; two more; three more
    """,
}
"""Pairs of words that say something together, by what they say."""

NEIGHBOURS = """
    I all; I be; I dont; I ed; I have; I ing; I may; I need; I never; I think; I verb; I want; I will; I would;
    a day; all verb; be a; be all; be bad; be ed; be ing; be insist; be it; be most; be never; be noun; be now;
    be number; be only; be plural; be prep; be the; be there; be you; day be; do I; do we; do you; dont verb;
    dont you; have a; have ed; have number; have was; if_ I; if_ a; if_ all; if_ ed; if_ ing; if_ it; if_ none;
    if_ noun; if_ one; if_ plural; if_ the; if_ they; if_ we; if_ you; it all; it be; it ed; it must; it only;
    it should; it verbs; it was; let we; may we; may you; most number; must be; must have; must never; must
    verb; never prep; never verb; no few; no ing; no noun; no plural; no verbs; noun all; noun be; noun ed; noun
    must; noun never; noun prep; noun should; noun verbs; noun was; number day; number noun; number plural; only
    verb; please dont; please verb; plural be; plural ed; plural must; plural never; plural only; plural prep;
    plural should; plural verb; prep all; prep day; prep future; prep now; prep number; should I; should be;
    should have; should we; the day; they all; they ed; they never; they say; they verb; they verbs; verb a;
    verb all; verb it; verb me; verb my; verb no; verb none; verb number; verb only; verb plural; verb the;
    verbs all; verbs never; verbs prep; want a; want it; want my; want noun; want plural; want prep; want the;
    want you; we all; we be; we dont; we ed; we have; we ing; we may; we need; we never; we only; we verb; we
    want; we will; will you; would have; would you; you be; you dont; you ed; you may; you must; you never; you
    say; you should; you verb
"""
"""Classes that stand side by side: \"if you\" is another case than \"if the\"."""
