package importer

import (
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community/registry"
)

// one reads a single documented value of AS64497.
func one(t *testing.T, line string) registry.Entry {
	t.Helper()
	r, err := Read(strings.NewReader("aut-num: AS64497\nremarks: "+line+"\n"), "t", RPSL, Options{})
	if err != nil || len(r.Entries) != 1 {
		t.Fatalf("%s: error %v\n%s", line, err, dump(r))
	}
	return r.Entries[0]
}

func TestWhatWordsAskFor(t *testing.T) {
	for line, want := range map[string]string{
		"64497:1 prepend 2x to AS64499":                         "[prepend 2; to as 64499]",
		"64497:1 prepend AS64497 AS64497 AS64497 to all peers":  "[prepend 3; to peers]",
		"64497:1 prepend AS64497 to upstreams":                  "[prepend 1; to transits]",
		"64497:1 prepend thrice towards North America":          "[prepend 3; to region North America]",
		"64497:1 announce to EXAMPLE-IX with 3 prepends":        "[prepend 3; to exchange EXAMPLE-IX]",
		"64497:1 advertise to customers without prepends":       "[announce; to customers]",
		"64497:1x prepend x times to peers":                     "[prepend x; to peers]",
		"64497:2[1-4]0 prepend to continent 1..4":               "[prepend; to named continent 1..4]",
		"64497:1 only announce to AS64499":                      "[announce-only; to as 64499]",
		"64497:1 do not export to transit providers":            "[no-export; to transits]",
		"64497:1 set local-preference to 120":                   "[local-pref 120]",
		"64497:1 set MED to 50 towards all customers":           "[med 50; to customers]",
		"64497:XXX set local-pref to XXX":                       "[local-pref XXX]",
		"64497:1 null-route, traffic is discarded":              "[blackhole]",
		"64497:1 set NO_EXPORT":                                 "[no-export]",
		"64497:1 add NO_ADVERTISE to any":                       "[no-advertise; to all]",
		"0:peer-as do not announce to peer-as":                  "[no-export; to as peer-as]",
		"64497:5:<ASN> announce to AS<ASN>":                     "[announce; to as <ASN>]",
		"64497:1 learned from Blue Carrier (AS64499)":           "[to as 64499 Blue Carrier]",
		"64497:1 learned from customers in Saint Petersburg":    "[to customers; to region Saint Petersburg]",
		"64497:6n:nnn prepend n times to AS$1, n=1-3":           "[prepend n; to as nnn; n=1-3 prepend n]",
		"64497:1 препенд 3 раза в сторону аплинков":             "[prepend 3; to transits]",
		"64497:1 no anunciar a proveedores":                     "[no-export; to transits]",
		"64497:1 nicht an Kunden weitergeben":                   "[no-export; to customers]",
		"64497:1 не передавати клієнтам":                        "[no-export; to customers]",
		"64497:1 prepend once to North Wire":                    "[prepend 1; to named North Wire]",
		"64497:1 prepend 2x to North Wire in Europe":            "[prepend 2; to region Europe; to named North Wire]",
		"64497:1 prepend 3x to Wire (Transit)":                  "[prepend 3; to transits; to named Wire]",
		"64497:1 prepend +1 to all exchange points":             "[prepend 1; to named exchange points]",
		"64497:1 do not announce to other regions":              "[no-export; to named other regions]",
		"64497:1 no export to TOWN-A LON1 peers":                "[no-export; to peers; to named TOWN-A LON1]",
		"64497:1 prepend once on routes learned from AS64499":   "[prepend 1; to as 64499; to named learned]",
		"64497:1 prepend customer AS twice on all sessions":     "[prepend 2; to all]",
		"64497:1 set LOCAL_PREF to 150 (default is 100)":        "[local-pref 150]",
		"64497:1 set local-pref to less by 1 than peers":        "[local-pref; to peers; to named less by 1 than]",
		"64497:1:nnn set metric += nnn":                         "[med]",
		"64497:1:nnn override no-export to ASnnn":               "[]",
		"64497:1 remove NO_EXPORT":                              "[]",
		"64497:1 drop to North Wire":                            "[]",
		"64497:1 drop all traffic":                              "[blackhole; to all]",
		"64497:3x (x=0) do not announce, (x=1..3) prepend x to": "[prepend x; x=0 no-export; x=1-3 prepend x]",
	} {
		if e := one(t, line); sense(e) != want {
			t.Errorf("%s\ngot  %s %s\nwant %s", line, e.Kind, sense(e), want)
		}
	}
}

func TestTheLanguageIsFoundWhereItCanBe(t *testing.T) {
	for line, want := range map[string]string{
		"64497:1 learned from peers": "en", "64497:1 получено от пиров": "ru", "64497:1 отримано від пірів": "uk",
		"64497:1 aprendido de clientes": "es", "64497:1 gelernt von den Kunden": "de", "64497:1 LAX1": "",
	} {
		if e := one(t, line); e.Lang != want {
			t.Errorf("%s is in %q, want %q", line, e.Lang, want)
		}
	}
}

func TestFormatsAreFoundOut(t *testing.T) {
	for text, want := range map[string]Format{
		"% comment\n\naut-num: AS1\nremarks: 1:2 x\n":   RPSL,
		"remarks: 64497:1 x\n":                          RPSL,
		"# c\n64497:1,x\n64497:2,y\n":                   NLNOG,
		"{\"ietf-bgp-communities:bgp-communities\":{}}": YANG,
		" {\"entries\":[]}":                             JSON,
		"# Title\n\n| 64497:1 | x |\n":                  Page,
		"64497:1 - learned, from peers\n":               Page,
		"# T\n\nText\n\nremarks: 64497:1 x\nMore\n":     Page,
		"": Page,
	} {
		if got := detect([]byte(text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "write auto, rpsl") {
		t.Errorf("error %v", err)
	}
}

func TestTheOwnerIsTheOneWhoDocuments(t *testing.T) {
	for _, tt := range []struct {
		text, name string
		opt        Options
		want       uint32
	}{
		{"aut-num: AS64499\nremarks: 64497:1 learned from peers\n", "x", Options{Owner: 5}, 64499},
		{"remarks: 64497:1 learned from peers\n", "x", Options{Owner: 64500}, 64500},
		{"# Communities of AS64499\n64497:1 - learned\n", "x", Options{}, 64499},
		{"64497:1,learned\n64497:2,b\n", "as64500.txt", Options{}, 64500},
		{"64497:1,learned\n64497:2,b\n", "x", Options{}, 64497},
	} {
		r, err := Read(strings.NewReader(tt.text), tt.name, Auto, tt.opt)
		if err != nil || len(r.Entries) == 0 || r.Entries[0].Owner != tt.want {
			t.Errorf("%q: error %v, want AS%d\n%s", tt.text, err, tt.want, dump(r))
		}
	}
	r, err := Read(strings.NewReader("65001:1 - learned\n65002:1 - learned\n"), "x", Page, Options{})
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "name the owner") {
		t.Errorf("no owner: error %v\n%s", err, dump(r))
	}
}

func TestCommunitiesOfPolicyLinesAreInUse(t *testing.T) {
	text := "aut-num: AS64497\nimport: from AS64499 action community.append(64497:1, 64497:2:3); accept AS64499:AS-ALL\n" +
		"export: to AS64499 action community .= {\n  64497:5,\n+ 64497:6 }; announce AS64497:AS-X\nexport: to AS64498 at 10:30 announce {192.0.2.0/24}\n"
	r, err := Read(strings.NewReader(text), "x", RPSL, Options{})
	var got []string
	for _, u := range r.InUse {
		got = append(got, u.Pattern.String())
	}
	if err != nil || strings.Join(got, " ") != "64497:1 64497:2:3 64497:5 64497:6" || len(r.Entries)+len(r.Problems) != 0 {
		t.Errorf("error %v\n%s", err, dump(r))
	}
}

func TestALineTooLongIsAProblem(t *testing.T) {
	long := "64497:1 learned from peers" + strings.Repeat(" x", longestLine)
	for f, text := range map[Format]string{RPSL: "remarks: " + long, Page: long, NLNOG: strings.Replace(long, " ", ",", 1)} {
		r, err := Read(strings.NewReader(text+"\n"), "x", f, Options{})
		if err != nil || len(r.Entries) != 0 || len(r.Problems) != 1 || r.Problems[0].Reason != tooLong {
			t.Errorf("%s: error %v, %d entries, problems %.300v", f, err, len(r.Entries), r.Problems)
		}
	}
}

func TestAHeadingSaysTowardsWhom(t *testing.T) {
	r, err := Read(strings.NewReader("aut-num: AS64497\nremarks: North Carrier (AS64499)\nremarks: 64497:11 prepend once\nremarks: 64497:12 prepend twice\n"+
		"remarks:\nremarks: Everybody\nremarks: 64497:1 prepend once\n"), "t", RPSL, Options{})
	if err != nil || len(r.Entries) != 3 {
		t.Fatalf("error %v\n%s", err, dump(r))
	}
	found, _ := registry.New(r.Entries...).Find(registry.Query{At: 64497, Verb: registry.Prepend, Number: 1})
	if len(found) != 1 || found[0].Value.String() != "64497:1" {
		t.Errorf("prepend once towards all: %v\n%s", found, dump(r))
	}
	found, _ = registry.New(r.Entries...).Find(registry.Query{At: 64497, Verb: registry.Prepend, Number: 2, Target: registry.Target{Kind: registry.AS, ASN: 64499}})
	if len(found) != 1 || found[0].Value.String() != "64497:12" || found[0].Entry.Meaning != "North Carrier (AS64499): prepend twice" {
		t.Errorf("prepend twice towards the AS of the heading: %v\n%s", found, dump(r))
	}
}

func TestWhatSaysTwoThingsIsNoAnswer(t *testing.T) {
	for _, text := range []string{"announce to AS64499 with no-export", "announce to AS64499, do not export further", "prepend twice to everyone but AS64499",
		"prepend 2x, no announce to AS64499", "do not announce to anyone except AS64499", "announce to all except AS64499", "do NOT stop announcing to AS64499",
		"do not announce to AS64499 and prepend 2x to AS64500", "announce to AS64499 but not to AS64500", "do not prepend to AS64499", "prepend 1-3 times to AS64499",
		"препенд 2 раза всем кроме AS64499", "set MED 50 and prepend 2x to AS64499"} {
		r := registry.New(one(t, "64497:1 "+text))
		for _, verb := range []registry.Verb{registry.Announce, registry.NoExport, registry.Prepend, registry.AnnounceOnly} {
			for _, target := range []registry.Target{{}, {Kind: registry.AS, ASN: 64499}} {
				found, _ := r.Find(registry.Query{At: 64497, Verb: verb, Number: 2, Target: target})
				if len(found) > 0 && found[0].Entry.Owner != 0 {
					t.Errorf("%q answers %s to %v", text, verb, target)
				}
			}
		}
	}
}
