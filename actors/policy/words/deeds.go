package words

import "slices"

// deed is one kind of action: how tools are named for it, and what people say for it.
type deed struct{ tool, said []string }

// deeds list what tools do. A word may stand in several.
var deeds = []deed{
	{words("send mail"), words("send email mail e-mail message text dm ping drop shoot")},
	{words("email message text dm"), words("send email mail e-mail message text dm ping")},
	{words("reply respond answer"), words("reply answer respond")},
	{words("forward"), words("forward")},
	{words("post publish tweet announce"), words("post publish tweet share announce")},
	{words("share"), words("share")},
	{words("comment"), words("comment")},
	{words("delete remove erase destroy purge clear discard trash recycle"), words("delete remove erase destroy purge clear discard trash bin")},
	{words("archive"), words("archive")},
	{words("restore untrash recover undelete unarchive"), words("restore untrash recover undelete unarchive")},
	{words("create add make schedule book new insert draft"), words("create add make schedule book draft put set insert")},
	{words("set"), words("set create add put make change adjust")},
	{words("build generate"), words("build generate create make")},
	{words("update change edit modify rename adjust"), words("update change edit modify rename adjust move reschedule set")},
	{words("move"), words("move")},
	{words("buy order purchase pay checkout"), words("buy order purchase pay checkout")},
	{words("transfer"), words("transfer pay send")},
	{words("unlock"), words("unlock")}, {words("open"), words("open")}, {words("lock"), words("lock secure")}, {words("close"), words("close shut")},
	{words("turn switch activate enable"), words("turn switch activate enable")}, {words("disable deactivate"), words("disable deactivate turn switch")},
	{words("run execute start launch"), words("run execute start launch")},
	{words("upload"), words("upload")}, {words("write save store export"), words("write save store export create make put")}, {words("download"), words("download save")},
	{words("invite"), words("invite add")}, {words("accept approve"), words("accept approve")}, {words("decline reject"), words("decline reject")},
	{words("cancel"), words("cancel delete remove")},
	{words("mark label star pin flag tag"), words("mark label star pin flag tag")}, {words("copy duplicate"), words("copy duplicate")},
	{words("follow subscribe"), words("follow subscribe")}, {words("unfollow unsubscribe"), words("unfollow unsubscribe")}, {words("like react"), words("like react")},
	{words("join"), words("join")}, {words("leave"), words("leave")}, {words("play"), words("play")}, {words("pause stop"), words("pause stop")}, {words("snooze"), words("snooze")},
}

// lookups are verbs that change nothing; in a tool's name they are no thing to speak of.
var lookups = setOf("search find list get read view fetch check show look lookup query browse see retrieve count describe download ask recall")

// readers are verbs whose object may be pasted: what follows them is data.
var readers = setOf(`summarize summarise translate proofread rewrite rephrase paraphrase explain analyze analyse review read check fix correct improve edit shorten classify extract compare
	interpret format wrote writes said says received got replied answered`)

// otherVerbs are verbs that no tool here is named by; a clause that begins with one is an order all the same.
var otherVerbs = setOf("tell let ask give remind help teach use keep wait think go try call bring say talk prepare finish have want warn log sign look write take ensure note remember")

// either are words that are as often a thing as a deed.
var either = setOf(`email mail e-mail message text dm post share comment order book schedule plan change set lock close open move copy mark label star pin flag tag like play run start trash bin
	forward answer reply update clear draft new make ping drop shoot download upload export store save cancel tweet archive write leave join pause stop transfer build switch turn check list view show look count search
	query note call review read fix format use try help want say talk let edit pay bring purchase`)

// mails are verbs that name what they send.
var mails = setOf("email mail e-mail message text dm tweet")

// verbs are all words that an order can begin with.
var verbs = func() set {
	m := set{}
	for _, d := range deeds {
		for _, w := range slices.Concat(d.tool, d.said) {
			m[w] = true
		}
	}
	for _, more := range []set{lookups, otherVerbs, setOf("summarize summarise translate proofread rewrite rephrase paraphrase explain analyze analyse review fix correct improve shorten classify extract compare interpret format")} {
		for w := range more {
			m[w] = true
		}
	}
	delete(m, "new")
	return m
}()

// deedOfTool finds the verb of a tool's name, which comes without the words of its app, and the deeds it stands for. A word that
// also names a thing gives way to one that does not: messages_send sends.
func deedOfTool(name []string) (verb string, list []deed) {
	weight := func(w string) int {
		named := slices.ContainsFunc(deeds, func(d deed) bool { return slices.Contains(d.tool, w) })
		switch {
		case lookups[w] && !named:
			return 3
		case !named:
			return 0
		case mails[w]:
			return 1
		case either[w]:
			return 2
		}
		return 3
	}
	best := 0
	for _, w := range name {
		if n := weight(w); n > best {
			verb, best = w, n
		}
	}
	if best == 0 && len(name) > 0 {
		return name[0], []deed{{name[:1], name[:1]}}
	}
	for _, d := range deeds {
		if slices.Contains(d.tool, verb) {
			list = append(list, d)
		}
	}
	return verb, list
}
