package importer

import "strings"

// openers are the octets that a token may begin with, before those that may stand right
// before it, inside those that a word goes on with.
var (
	openers = octets("<[({$*" + alphanumeric)
	before  = octets(" \t(\"'`,;=|*>{[/<")
	inside  = octets("_.:@%&#+-" + alphanumeric)
)

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func octets(all string) (set [256]bool) {
	for i := range len(all) {
		set[all[i]] = true
	}
	return set
}

// notBefore are words after which two numbers with a colon are no community.
var notBefore = set(`rd vni port ports mtu rfc mac time hours ratio phone tel fax window version v uptime vlan vpls evi esi rev asdot isbn distinguisher
 порт порты время телефон час`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}
