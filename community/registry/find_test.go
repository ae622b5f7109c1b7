package registry

import "testing"

// asked are the values that entries of AS65001 answer with.
func asked(t *testing.T, q Query, entries ...Entry) string {
	t.Helper()
	for i := range entries {
		entries[i].Owner, entries[i].Kind = 65001, KindAction
		if entries[i].Confidence == 0 {
			entries[i].Confidence = 1
		}
	}
	q.At = 65001
	found, _ := New(entries...).Find(q)
	text := ""
	for _, f := range found {
		if f.Entry.Owner == 0 {
			continue // what RFCs define
		}
		text += f.Value.String() + " "
	}
	return text
}

func TestFindAnswersWithNothingThatIsForOthersToo(t *testing.T) {
	north, europe, carrier := Target{Kind: AS, ASN: 174}, Target{Kind: Region, Name: "Europe"}, Target{Kind: Named, Name: "North Carrier"}
	for _, tt := range []struct {
		name    string
		targets []Target
		ask     Target
		want    bool
	}{
		{"an AS", []Target{north}, north, true},
		{"an AS in a region, asked for the AS", []Target{north, europe}, north, false},
		{"an AS in a region, asked for the region", []Target{north, europe}, europe, false},
		{"a name in a region, asked for the region", []Target{europe, carrier}, europe, false},
		{"a name, asked for all", []Target{carrier}, Target{}, false},
		{"a name, asked for it", []Target{carrier}, Target{Kind: Region, Name: "north carrier"}, true},
		{"a name that is a transit, asked for it", []Target{{Kind: Transits}, carrier}, Target{Kind: AS, Name: "North Carrier"}, true},
		{"a name that is a transit, asked for transits", []Target{{Kind: Transits}, carrier}, Target{Kind: Transits}, false},
		{"peers in a region, asked for the region", []Target{{Kind: Peers}, europe}, europe, false},
		{"peers and transits, asked for peers", []Target{{Kind: Peers}, {Kind: Transits}}, Target{Kind: Peers}, false},
		{"all peers of a route server, asked for peers", []Target{{Kind: All}, {Kind: Peers}}, Target{Kind: Peers}, true},
		{"all peers of a route server, asked for all", []Target{{Kind: All}, {Kind: Peers}}, Target{}, true},
		{"two ASes, asked for one", []Target{north, {Kind: AS, ASN: 3356}}, north, false},
	} {
		got := asked(t, Query{Verb: NoExport, Target: tt.ask}, Entry{Pattern: pattern(t, "65001:1"), Action: &Action{Verb: NoExport}, Targets: tt.targets})
		if (got != "") != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestFindDoesNotAnswerWithWhatIsNotSure(t *testing.T) {
	e := Entry{Pattern: pattern(t, "65001:1"), Action: &Action{Verb: NoExport}, Confidence: 0.7}
	if got := asked(t, Query{Verb: NoExport}, e); got != "" {
		t.Errorf("found %s", got)
	}
}

func TestFindDoesNotAnswerWithAValueThatSaysSomethingElse(t *testing.T) {
	any := Entry{Pattern: pattern(t, "65001:1x"), Action: &Action{Verb: Prepend, Var: "x"}}
	plain := Entry{Pattern: pattern(t, "65001:19"), Action: &Action{Verb: Announce}}
	if got := asked(t, Query{Verb: Prepend, Number: 9}, any, plain); got != "" {
		t.Errorf("19 is to announce without prepends, found %s", got)
	}
	if got := asked(t, Query{Verb: Prepend, Number: 8}, any, plain); got != "65001:18 " {
		t.Errorf("found %s", got)
	}
	once := Entry{Pattern: pattern(t, "65001:5"), Action: &Action{Verb: Prepend, Number: new(uint32(1))}}
	twice := Entry{Pattern: pattern(t, "65001:5"), Action: &Action{Verb: Prepend, Number: new(uint32(2))}, Meaning: "twice"}
	if got := asked(t, Query{Verb: Prepend, Number: 1}, once, twice); got != "" {
		t.Errorf("two documents disagree, found %s", got)
	}
	if got := asked(t, Query{Verb: Prepend, Number: 1}, once, once); got == "" {
		t.Error("two documents agree, found nothing")
	}
}
