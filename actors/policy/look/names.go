package look

import "strings"

// isCommon: a word of everyday speech, or of addresses that belong to nobody by name. None of them vouches for an address: that
// somebody said "send the support team a mail" gives no address with "support" in it.
func isCommon(w string) bool { return commonWords[w] }

var commonWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`the and for with from this that you your our are was not dont never always ask before after first without when unless only any all one new its into onto out off who what which where
		how why can could should would will shall have has had been being please just make sure want need tell say let them they then than there here get got put set way thing things something anything person people
		about also more most some such via per yes okay thanks hello dear hey good morning evening night today tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday week month year time date
		send sent sending email emails mail mails message messages text write reply replies answer respond forward post posts share call phone number address contact contacts team office group company work home
		info admin support service services sales help desk billing account accounts payment payments invoice invoices order orders news newsletter noreply donotreply webmaster postmaster security hr jobs career marketing
		press media legal finance shop store online web site page user users customer customers client clients friend boss mom dad brother sister wife husband
		about lunch dinner meeting event calendar file files report document documents note notes list photo picture link money amount price cost dollars euros rupees pay buy delete remove trash archive read open find
		search look check summarize summary draft attach attached update create add change plan project here below above last latest next recent every each other another both same different his her him she their ours mine`) {
		m[w] = true
	}
	return m
}()
