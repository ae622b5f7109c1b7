package healthcheck

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"pgregory.net/rapid"
)

func dnsCheck(d DNS) Check {
	if d.Name == "" {
		d.Name = "www.example"
	}
	return Check{Name: "dns", DNS: &d, Interval: 10 * time.Second, Timeout: 5 * time.Second, Rise: 1, Fall: 2}
}

func TestDNSProbe(t *testing.T) {
	rcode := func(c dnsmessage.RCode) func(*dnsmessage.Message) {
		return func(m *dnsmessage.Message) { m.RCode = c }
	}
	for _, c := range []struct {
		name  string
		dns   DNS
		reply replier
		want  string
	}{
		{"an answer passes", DNS{}, always(nil, aRecord("192.0.2.1")), ""},
		{"over TCP, too", DNS{TCP: true}, always(nil, aRecord("192.0.2.1")), ""},
		{"no data passes where none is asked for", DNS{}, always(nil), ""},
		{"no data fails where an answer is asked for", DNS{MinAnswers: 1}, always(nil), "0 answers of type A, want 1 or more"},
		{"too few answers fail", DNS{MinAnswers: 3}, always(nil, aRecord("192.0.2.1"), aRecord("192.0.2.2")), "2 answers of type A, want 3 or more"},
		{"an alias that leads nowhere is no answer", DNS{MinAnswers: 1}, always(nil, alias("cdn.example.")), "0 answers of type A, want 1 or more"},
		{"an alias that leads on is", DNS{MinAnswers: 1}, always(nil, alias("cdn.example."), aRecord("192.0.2.1")), ""},
		{"every record counts for ANY", DNS{Type: "ANY", MinAnswers: 2}, always(nil, alias("cdn.example."), aRecord("192.0.2.1")), ""},
		{"SERVFAIL fails", DNS{}, always(rcode(2)), "rcode SERVFAIL, want NOERROR"},
		{"NXDOMAIN fails", DNS{}, always(rcode(3)), "rcode NXDOMAIN, want NOERROR"},
		{"NXDOMAIN passes where it is wanted", DNS{RCode: "NXDOMAIN"}, always(rcode(3)), ""},
		{"NOERROR fails where NXDOMAIN is wanted", DNS{RCode: "NXDOMAIN"}, always(nil, aRecord("192.0.2.1")), "rcode NOERROR, want NXDOMAIN"},
		{"a code without a name", DNS{}, always(rcode(15)), "rcode 15, want NOERROR"},
		{"a refusal without the question is an answer", DNS{RCode: "FORMERR"},
			always(func(m *dnsmessage.Message) { m.RCode, m.Questions = 1, nil }), ""},
		{"one record that matches is enough", DNS{Answer: `^192\.0\.2\.2$`}, always(nil, aRecord("192.0.2.1"), aRecord("192.0.2.2")), ""},
		{"no record that matches fails", DNS{Answer: "^198"}, always(nil, aRecord("192.0.2.1"), aRecord("192.0.2.2")),
			`no answer matches "^198": 192.0.2.1, 192.0.2.2`},
		{"aliases are not matched", DNS{Answer: "cdn"}, always(nil, alias("cdn.example."), aRecord("192.0.2.1")), `no answer matches "cdn": 192.0.2.1`},
		{"TXT strings are joined", DNS{Type: "TXT", Answer: "^ns1msk$"}, always(nil, &dnsmessage.TXTResource{TXT: []string{"ns1", "msk"}}), ""},
		{"the case of the name does not matter", DNS{Name: "WWW.Example."},
			always(func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("www.eXample.") }), ""},
		{"a malformed answer fails", DNS{}, func(q dnsmessage.Message, _ string) [][]byte {
			wire := response(q, nil, aRecord("192.0.2.1"))
			return [][]byte{wire[:len(wire)-1]}
		}, "malformed answer: unpacking Answer: A record: insufficient data for base length type"},
		{"another's ID over TCP fails", DNS{TCP: true}, always(func(m *dnsmessage.Message) { m.ID++ }), errOther.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.dns.Server = newNameServer(t, c.reply).address
			if got := oneProbe(t, dnsCheck(c.dns)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestDNSAsksForCutAnswersAgainOverTCP(t *testing.T) {
	cut := func(m *dnsmessage.Message) { m.Truncated = true }
	s := newNameServer(t, func(q dnsmessage.Message, network string) [][]byte {
		if network == "udp" {
			return [][]byte{response(q, cut)}
		}
		return [][]byte{response(q, nil, aRecord("192.0.2.1"))}
	})
	if got := oneProbe(t, dnsCheck(DNS{Server: s.address, MinAnswers: 1})); got != "" {
		t.Error(got)
	}
	if n := len(s.sources); n != 2 {
		t.Errorf("%d queries, want one by UDP and one by TCP", n)
	}
	s = newNameServer(t, always(cut, aRecord("192.0.2.1")))
	if got := oneProbe(t, dnsCheck(DNS{Server: s.address, MinAnswers: 1})); got != "" {
		t.Errorf("an answer that TCP calls cut, too: %s", got)
	}
}

func TestDNSWaitsForTheAnswerToItsOwnQuestion(t *testing.T) {
	others := map[string]func(*dnsmessage.Message){
		"ID":            func(m *dnsmessage.Message) { m.ID++ },
		"question":      func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("other.example.") },
		"type":          func(m *dnsmessage.Message) { m.Questions[0].Type = dnsmessage.TypeMX },
		"class":         func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS },
		"no question":   func(m *dnsmessage.Message) { m.Questions = nil },
		"two questions": func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) },
		"a query":       func(m *dnsmessage.Message) { m.Response = false },
		"opcode":        func(m *dnsmessage.Message) { m.OpCode = 5 },
	}
	wrong := func(q dnsmessage.Message) [][]byte {
		out := [][]byte{{}, []byte("short")}
		for _, change := range others {
			out = append(out, response(dnsmessage.Message{Header: q.Header, Questions: append([]dnsmessage.Question(nil), q.Questions...)}, change, aRecord("203.0.113.1")))
		}
		return out
	}
	s := newNameServer(t, func(q dnsmessage.Message, _ string) [][]byte {
		return append(wrong(q), response(q, nil, aRecord("192.0.2.1")))
	})
	if got := oneProbe(t, dnsCheck(DNS{Server: s.address, Answer: "^192.0.2.1$"})); got != "" {
		t.Errorf("the right answer after wrong ones: %s", got)
	}
	s = newNameServer(t, func(q dnsmessage.Message, _ string) [][]byte { return wrong(q) })
	check := dnsCheck(DNS{Server: s.address})
	check.Timeout = 50 * time.Millisecond
	if got, want := oneProbe(t, check), fmt.Sprintf("timeout after 50ms: %d packets that do not answer the question", len(others)+2); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// U19, for name servers.
func TestDNSHungIsFailed(t *testing.T) {
	silent := newNameServer(t, func(dnsmessage.Message, string) [][]byte { return nil })
	hole := blackHole(t)
	for name, d := range map[string]DNS{
		"silent over UDP": {Server: silent.address},
		"silent over TCP": {Server: silent.address, TCP: true},
		"no connection":   {Server: hole, TCP: true},
	} {
		check := dnsCheck(d)
		check.Timeout = 50 * time.Millisecond
		if got := oneProbe(t, check); got != "timeout after 50ms" {
			t.Errorf("%s: %q, want a timeout", name, got)
		}
	}
}

func TestDNSDeadServerIsRefused(t *testing.T) {
	packets, streams := listenBoth(t)
	free := packets.LocalAddr().String()
	packets.Close()
	streams.Close()
	for _, tcp := range []bool{false, true} {
		if got := oneProbe(t, dnsCheck(DNS{Server: free, TCP: tcp})); got != "connection refused" {
			t.Errorf("TCP %v: %q, want connection refused", tcp, got)
		}
	}
}

// A node asks its own server from the address that clients use.
func TestDNSAsksFromItsSource(t *testing.T) {
	s := newNameServer(t, always(nil))
	vip := netip.MustParseAddr("127.7.7.7")
	for _, tcp := range []bool{false, true} {
		if got := oneProbe(t, dnsCheck(DNS{Server: s.address, Source: vip, TCP: tcp})); got != "" {
			t.Fatal(got)
		}
		if got := <-s.sources; got != vip {
			t.Errorf("TCP %v: asked from %v, want %v", tcp, got, vip)
		}
	}
	absent := DNS{Server: s.address, Source: netip.MustParseAddr("192.0.2.99")}
	if got := oneProbe(t, dnsCheck(absent)); got != "cannot assign requested address" {
		t.Errorf("a source that this machine does not have: %q", got)
	}
}

func TestDNSQueryBytes(t *testing.T) {
	for _, c := range []struct {
		dns  DNS
		want string
	}{
		{DNS{Name: "www.example.net"}, "0000 0100 0001 0000 0000 0000 03777777 076578616d706c65 036e6574 00 0001 0001"},
		{DNS{Name: ".", Type: "NS"}, "0000 0100 0001 0000 0000 0000 00 0002 0001"},
		{DNS{Name: "id.server.", Type: "TXT", Class: "CH"}, "0000 0100 0001 0000 0000 0000 026964 06736572766572 00 0010 0003"},
		{DNS{Name: "x", Type: "TYPE65534"}, "0000 0100 0001 0000 0000 0000 0178 00 fffe 0001"},
	} {
		c.dns.Server = "127.0.0.1:53"
		p, errs := newDNSProbe(c.dns)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got, want := hex.EncodeToString(p.query), strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%+v:\n%s, want\n%s", c.dns, got, want)
		}
	}
}

func TestDNSRecordTexts(t *testing.T) {
	name := dnsmessage.MustNewName
	for _, c := range []struct {
		body dnsmessage.ResourceBody
		want string
	}{
		{aRecord("192.0.2.1"), "192.0.2.1"},
		{&dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("2001:db8::1").As16()}, "2001:db8::1"},
		{alias("a.example."), "a.example."},
		{&dnsmessage.NSResource{NS: name("ns1.example.")}, "ns1.example."},
		{&dnsmessage.PTRResource{PTR: name("host.example.")}, "host.example."},
		{&dnsmessage.MXResource{Pref: 10, MX: name("mx.example.")}, "10 mx.example."},
		{&dnsmessage.SRVResource{Priority: 1, Weight: 2, Port: 443, Target: name("s.example.")}, "1 2 443 s.example."},
		{&dnsmessage.SOAResource{NS: name("ns1.example."), MBox: name("noc.example."), Serial: 2026113001, Refresh: 7200, Retry: 3600, Expire: 1209600, MinTTL: 300},
			"ns1.example. noc.example. 2026113001 7200 3600 1209600 300"},
		{&dnsmessage.TXTResource{TXT: []string{"v=spf1 ", "-all"}}, "v=spf1 -all"},
		{&dnsmessage.SVCBResource{Priority: 1, Target: name("."), Params: []dnsmessage.SVCParam{{Key: 1, Value: []byte("\x02h2")}}}, "1 . key1=026832"},
		{&dnsmessage.HTTPSResource{SVCBResource: dnsmessage.SVCBResource{Priority: 0, Target: name("cdn.example.")}}, "0 cdn.example."},
		{&dnsmessage.UnknownResource{Type: 257, Data: []byte{0, 5, 'i'}}, `\# 3 000569`},
		{&dnsmessage.UnknownResource{Type: 257}, `\# 0`},
	} {
		if got := recordText(c.body); got != c.want {
			t.Errorf("%#v: %q, want %q", c.body, got, c.want)
		}
	}
}

func TestNewRefusesBadDNS(t *testing.T) {
	ok := DNS{Server: "127.0.0.1:53", Name: "x"}
	for _, c := range []struct {
		change func(*DNS)
		want   string
	}{
		{func(d *DNS) { d.Server = "127.0.0.1" }, `dns.server: "127.0.0.1" is not host:port: write for example 127.0.0.1:80 or [::1]:80`},
		{func(d *DNS) { d.Name = "" }, `dns.name: "" is not a domain name: write for example www.example.net`},
		{func(d *DNS) { d.Name = "a..b" }, `dns.name: "a..b" is not a domain name: write for example www.example.net`},
		{func(d *DNS) { d.Name = strings.Repeat("a", 64) }, `dns.name: "` + strings.Repeat("a", 64) + `" is not a domain name: write for example www.example.net`},
		{func(d *DNS) { d.Type = "a" }, `dns.type: "a" is not a record type: write A, AAAA, ANY, CAA, CNAME, DNSKEY, DS, HTTPS, MX, NAPTR, NS, PTR, SOA, SRV, SVCB, TLSA, TXT, or TYPE and a number`},
		{func(d *DNS) { d.Type = "TYPE0" }, `dns.type: "TYPE0" is not a record type: write A, AAAA, ANY, CAA, CNAME, DNSKEY, DS, HTTPS, MX, NAPTR, NS, PTR, SOA, SRV, SVCB, TLSA, TXT, or TYPE and a number`},
		{func(d *DNS) { d.Class = "X" }, `dns.class: "X" is not a class: write IN, CH or HS`},
		{func(d *DNS) { d.RCode = "OK" }, `dns.rcode: "OK" is not a response code: write one of FORMERR, NOERROR, NOTAUTH, NOTIMP, NOTZONE, NXDOMAIN, NXRRSET, REFUSED, SERVFAIL, YXDOMAIN, YXRRSET`},
		{func(d *DNS) { d.Answer = "(" }, "dns.answer: not a regular expression (RE2): error parsing regexp: missing closing ): `(`: quote special characters with a backslash"},
		{func(d *DNS) { d.MinAnswers = -1 }, `dns.min_answers: -1 is below zero: write 0 or more`},
		{func(d *DNS) { d.RCode, d.MinAnswers = "NXDOMAIN", 1 }, `dns.min_answers: with NXDOMAIN there are no answers: leave it out, or want NOERROR`},
		{func(d *DNS) { d.RCode, d.Answer = "REFUSED", "x" }, `dns.answer: with REFUSED there are no answers: leave it out, or want NOERROR`},
		{func(d *DNS) { d.Source = netip.MustParseAddr("2001:db8::1") }, `dns.source: 2001:db8::1 is of another family than 127.0.0.1: write an address of the same`},
		{func(d *DNS) { d.Source = netip.MustParseAddr("0.0.0.0") }, `dns.source: 0.0.0.0 is not the address of an interface: write for example 198.51.100.53`},
	} {
		d := ok
		c.change(&d)
		refusedWith(t, Check{DNS: &d, Interval: time.Second, Timeout: time.Millisecond, Rise: 1, Fall: 1}, c.want)
	}
}

// Whatever is changed in an answer's ID or question, it is an answer to something
// else; unchanged, it says exactly what was put in.
func TestOnlyAnswersToTheQuestionAreTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]string{"A", "AAAA", "TXT"})
		label := rapid.StringMatching(`[a-z]{1,5}(\.[a-z]{1,5}){0,2}`)
		asked, askedType := label.Draw(t, "name"), kinds.Draw(t, "type")
		answered, answeredType := asked, askedType
		if rapid.Bool().Draw(t, "other name") {
			answered = label.Draw(t, "answered")
		}
		if rapid.Bool().Draw(t, "other type") {
			answeredType = kinds.Draw(t, "answered type")
		}
		id, answeredID := rapid.Uint16().Draw(t, "id"), rapid.Uint16Range(0, 3).Draw(t, "id off")
		p, errs := newDNSProbe(DNS{Server: "h:53", Name: asked, Type: askedType})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		typ, err := parseType(answeredType)
		if err != nil {
			t.Fatal(err)
		}
		var bodies []dnsmessage.ResourceBody
		for range rapid.IntRange(0, 5).Draw(t, "A records") {
			bodies = append(bodies, aRecord("192.0.2.1"))
		}
		for range rapid.IntRange(0, 5).Draw(t, "TXT records") {
			bodies = append(bodies, &dnsmessage.TXTResource{TXT: []string{"x"}})
		}
		query := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: id + answeredID},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(answered + "."), Type: typ, Class: dnsmessage.ClassINET}},
		}
		reply, err := p.parse(response(query, nil, bodies...), id, false)
		ours := answeredID == 0 && answered == asked && answeredType == askedType
		if (err == nil) != ours || err != nil && err != errOther {
			t.Fatalf("error %v, ours %v", err, ours)
		}
		want := 0
		for _, b := range bodies {
			if _, ok := b.(*dnsmessage.AResource); ours && ok == (askedType == "A") && askedType != "AAAA" {
				want++
			}
		}
		if len(reply.records) != want {
			t.Fatalf("%d records, want %d", len(reply.records), want)
		}
	})
}

func FuzzDNSReply(f *testing.F) {
	p, errs := newDNSProbe(DNS{Server: "h:53", Name: "www.example", Type: "ANY", Answer: "x", MinAnswers: 1})
	if len(errs) > 0 {
		f.Fatal(errs)
	}
	query := dnsmessage.Message{Questions: []dnsmessage.Question{p.question}}
	f.Add(response(query, nil, aRecord("192.0.2.1"), &dnsmessage.TXTResource{TXT: []string{"x"}}), true)
	f.Add(response(query, func(m *dnsmessage.Message) { m.Truncated = true }), false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, message []byte, whole bool) {
		reply, err := p.parse(message, 0, whole)
		if err != nil && len(reply.records) > 0 {
			t.Errorf("records %q beside error %v", reply.records, err)
		}
		if err == nil && len(message) < 12 {
			t.Errorf("a message of %d bytes is an answer", len(message))
		}
		if err := p.judge(reply); err == nil && len(reply.records) == 0 {
			t.Error("passed without a record")
		} else if text := explain(err); len(text) > maxError {
			t.Errorf("%d bytes of error", len(text))
		}
	})
}
