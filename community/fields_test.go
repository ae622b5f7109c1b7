package community

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFieldsMatchTheirDigitsAndBits(t *testing.T) {
	for _, c := range []struct{ pattern, in, out, bound string }{
		{"65001:dec(Action=3000)", "65001:3000", "65001:300 65001:30000", "Action=3000"},
		{"65001:dec(Continent/3=200;Prepend/1=[1-5])", "65001:2001 65001:2005", "65001:2000 65001:2006 65001:200 65001:20011 65002:2001", "Continent=200 Prepend=1"},
		// Fewer digits than the fields have are filled up with zeros.
		{"65001:dec(A/2=0[0-9];B/2=.*)", "65001:0 65001:21 65001:999", "65001:1000", "A=00 B=00"},
		{"65001:dec(A/5=3000)", "65001:3000", "65001:30000", "A=3000"},
		{"65001:dec(A/5=03000)", "65001:3000", "65001:30000", "A=3000"},
		{"65001:dec(A=^(1|22)$)", "65001:1 65001:22", "65001:12 65001:122", "A=1"},
		{"65001:bin(Region/5=00101;Satellite/1=[0-1];Country/10=1000010000)", "65001:10768 65001:11792", "65001:10769", "Region=00101 Satellite=0 Country=1000010000"},
		{"65001:bin(All=0+1)", "65001:1", "65001:2 65001:32769", "All=0000000000000001"},
		{"65001:1:bin(A/16=0{16};B/16=.*)", "65001:1:0 65001:1:65535", "65001:1:65536 65001:2:0", "A=0000000000000000 B=0000000000000000"},
		{"65001:dec(F=4):dec(ASN=.*)", "65001:4:64498 65001:4:4294967295", "65001:5:64498", "F=4 ASN=64498"},
		{"0x00:0x03:65001:dec(Peer-AS=.*)", "ro:65001:4200000001 0x00:0x03:65001:1", "rt:65001:1 0x40:0x03:65001:1 0x02:0x03:65001:1", "Peer-AS=4200000001"},
		{"0x42:0x08:4200000000:bin(All=1.*)", "0x42:0x08:4200000000:32768", "0x42:0x08:4200000000:1 0x02:0x08:4200000000:32768", "All=1000000000000000"},
		{"65001:dec(%3Aa%20b%3D/1=[%28]|7)", "65001:7", "65001:8", ":a b==7"},
	} {
		p := mustPattern(t, c.pattern)
		if p.String() != c.pattern || mustPattern(t, p.String()).Compare(p) != 0 {
			t.Errorf("%s is spelled %s", c.pattern, p)
		}
		for i, text := range strings.Fields(c.in) {
			v := mustValue(t, text)
			if !p.Match(v) {
				t.Errorf("%s does not match %s", p, text)
			}
			bound, _ := p.Bind(v)
			set, texts := map[string]string{}, []string{}
			for _, b := range bound {
				set[b.Name] = b.Text
				texts = append(texts, b.Name+"="+b.Text)
			}
			if got := strings.Join(texts, " "); i == 0 && got != c.bound {
				t.Errorf("%s binds %q in %s, want %q", p, got, text, c.bound)
			}
			if again, err := p.Fill(func(name string) (string, bool) { d, ok := set[name]; return d, ok }); err != nil || again != v {
				t.Errorf("%s filled with %v: %v, %v", p, texts, again, err)
			}
		}
		for _, text := range strings.Fields(c.out) {
			if p.Match(mustValue(t, text)) {
				t.Errorf("%s matches %s", p, text)
			}
		}
	}
}

func TestFieldsThatDoNotFitAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"65001:dec(A/4=1;B/2=2)":            "the fields have 6 digits together, the number has 5",
		"65001:bin(A/10=1;B/7=0)":           "the fields have 17 bits together, the number has 16",
		"65001:bin(A/10=0*)":                "which of them are meant is not said",
		"65001:dec(A=1;B/2=2)":              "A has no length",
		"65001:dec()":                       "write NAME/LENGTH=ERE",
		"65001:dec(A/0=1)":                  "write 1..255",
		"65001:dec(A/1=12;B/1=1)":           "matches nothing of its length, 1",
		"65001:dec(A/1=3)x":                 "has no number of",
		"65001:dec(A=(1)":                   "no POSIX ERE",
		"65001:dec(A=70000)":                "has no number of 0..65535",
		"65001:dec(A%zz=1)":                 "no octet",
		"0x03:0x00:65001:dec(A=1)":          "has no AS number",
		"0x00:0x0:65001:1":                  "0x and two hexadecimal digits",
		"0x00:0x02:70000:1":                 "out of range",
		"65001:" + strings.Repeat("1", 300): "longer than 256",
	} {
		p, err := ParsePattern(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", text, p, err, want)
		}
	}
	for text, want := range map[string]string{
		"65001:dec(A/2=.*;B/1=[12]) A=1":           "B is not given",
		"65001:dec(A/2=.*;B/1=[12]) A=100,B=1":     "has room for 2",
		"65001:dec(A/2=.*;B/1=[12]) A=10,B=3":      "is none of",
		"65001:bin(A/15=.*;B/1=[01]) A=10,B=3":     "has room for 1 of 01",
		"65001:dec(A=.*) A=70000":                  "out of range",
		"65001:dec(A/2=.*;B/1=[12]) A=-1,B=1":      "has room for",
		"0x00:0x02:65001:dec(A=.*) A=999999999999": "out of range",
	} {
		text, args, _ := strings.Cut(text, " ")
		set := map[string]string{}
		for arg := range strings.SplitSeq(args, ",") {
			name, digits, _ := strings.Cut(arg, "=")
			set[name] = digits
		}
		v, err := mustPattern(t, text).Fill(func(name string) (string, bool) { d, ok := set[name]; return d, ok })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with %s: %v, %v, want an error with %q", text, args, v, err, want)
		}
	}
}

func TestPatternsOfFieldsAreMadeAndTakenApart(t *testing.T) {
	layout := Layout{Binary: true, Fields: []Field{{"Region/öst;", 5, "00101"}, {"No-Sat", 1, "[(]|0"}, {"Country", 10, "1000010000"}}}
	p, err := NewFields(Standard, 65001, layout)
	if err != nil {
		t.Fatal(err)
	}
	if want := "65001:bin(Region%2Föst%3B/5=00101;No-Sat/1=%5B%28%5D|0;Country/10=1000010000)"; p.String() != want {
		t.Errorf("spelled %s, want %s", p, want)
	}
	got, ok := p.Layout(1)
	if !ok || fmt.Sprint(got) != fmt.Sprint(layout) || fmt.Sprint(got.Fields) != fmt.Sprint(layout.Fields) {
		t.Errorf("taken apart %v, want %v", got, layout)
	}
	if v, ok := p.Value(); !ok || v != NewStandard(65001, 10768) {
		t.Errorf("the only value is %v, %v", v, ok)
	}
	if _, ok := p.Layout(0); ok {
		t.Error("the administrator has fields")
	}
	if _, err := NewFields(Extended, 65001, layout); err == nil {
		t.Error("an extended community without a type was made")
	}
	q, err := NewExtendedFields(0x42, 8, 4200000000, Layout{Fields: []Field{{"A", 0, ".*"}}})
	if err != nil || q.String() != "0x42:0x08:4200000000:dec(A=.*)" {
		t.Errorf("%v, %v", q, err)
	}
}

func TestTheMoreSpecificFieldsComeFirst(t *testing.T) {
	order := []string{"65001:3001", "65001:dec(A=3000)", "65001:dec(A/3=200;B/1=[1-5])", "65001:20-89", "65001:dec(A/2=20;B/2=.*)", "65001:2xxx", "65001:dec(A=.*)"}
	for i := range len(order) - 1 {
		if p, q := mustPattern(t, order[i]), mustPattern(t, order[i+1]); p.Compare(q) >= 0 || q.Compare(p) <= 0 {
			t.Errorf("%s does not come before %s", p, q)
		}
	}
}

// remembered asks match once for each text.
func remembered(match func(string) bool) func(string) bool {
	known := map[string]bool{}
	return func(text string) bool {
		matches, ok := known[text]
		if !ok {
			matches = match(text)
			known[text] = matches
		}
		return matches
	}
}

// drawFields draws fields and a slow matcher beside them.
func drawFields(t *rapid.T) (string, func(uint32) bool) {
	layout := Layout{Binary: rapid.Bool().Draw(t, "binary")}
	expressions := []string{".*", "[0-9]+", "0*", "0?1*", "1.*", "(0|1)+", "[1-5]", "2[0-4]", "10|01|1"}
	left := 5
	if layout.Binary {
		left = 16
		expressions = expressions[:6]
	}
	var slow []func(string) bool
	for left > 0 && (len(slow) < 3 || layout.Binary) {
		length := rapid.IntRange(1, left).Draw(t, "length")
		if layout.Binary && len(slow) == 3 {
			length = left
		}
		e := rapid.SampledFrom(expressions).Draw(t, "expression")
		layout.Fields = append(layout.Fields, Field{fmt.Sprintf("f%d", len(slow)), length, e})
		slow = append(slow, remembered(regexp.MustCompilePOSIX("^("+e+")$").MatchString))
		left -= length
	}
	total := 0
	for _, f := range layout.Fields {
		total += f.Length
	}
	return layout.String(), func(n uint32) bool {
		text := fmt.Sprintf("%0*d", total, n)
		if layout.Binary {
			text = fmt.Sprintf("%0*b", total, n)
		}
		if len(text) > total {
			return false
		}
		if len(slow) == 1 && !layout.Binary && slow[0](strconv.Itoa(int(n))) {
			return true
		}
		for i, f := range layout.Fields {
			if !slow[i](text[:f.Length]) {
				return false
			}
			text = text[f.Length:]
		}
		return true
	}
}

func TestFieldsAgreeWithASlowMatcher(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		a, slowA := drawFields(t)
		b, slowB := drawFields(t)
		if rapid.Bool().Draw(t, "other") {
			b, slowB = drawSegment(t, 0xFFFF)
		}
		p, err := ParsePattern("64500:" + a)
		if err != nil {
			t.Skip(err) // an expression that has no text of the length
		}
		q, err := ParsePattern("64500:" + b)
		if err != nil {
			t.Skip(err)
		}
		covers, covered, overlaps, count := true, true, false, 0
		least, largest := uint32(0xFFFFFFFF), uint32(0)
		for n := range uint32(0x10000) {
			inA, inB := slowA(n), slowB(n)
			if inA {
				count++
				least, largest = min(least, n), max(largest, n)
			}
			covers, covered, overlaps = covers && (inA || !inB), covered && (inB || !inA), overlaps || inA && inB
			if got := p.Match(NewStandard(64500, uint16(n))); got != inA {
				t.Fatalf("%s matches %d: %v", p, n, got)
			}
		}
		if p.Covers(q) != covers || q.Covers(p) != covered || p.Overlaps(q) != overlaps || q.Overlaps(p) != overlaps {
			t.Fatalf("%s and %s: covers %v, %v, overlaps %v, %v, want %v, %v, %v", p, q, p.Covers(q), q.Covers(p), p.Overlaps(q), q.Overlaps(p), covers, covered, overlaps)
		}
		if got := p.segs[1].count; got != float64(count) {
			t.Fatalf("%s has %v numbers, want %d", p, got, count)
		}
		if lo, hi := p.Bounds(); lo[1] != least || hi[1] != largest || lo[0] != 64500 || hi[0] != 64500 {
			t.Fatalf("%s is from %v to %v, want %d to %d", p, lo, hi, least, largest)
		}
	})
}

func TestFieldsOf32BitsAreComparedWithDigits(t *testing.T) {
	p := mustPattern(t, "65001:1:bin(A/8=00000001;B/24=.*)")
	for text, want := range map[string][2]bool{ // covers, overlaps
		"65001:1:16777216-33554431":      {true, true},
		"65001:1:16777215-33554431":      {false, true},
		"65001:1:33554432-4294967295":    {false, false},
		"65001:1:2000000x":               {true, true},
		"65001:1:nnn":                    {false, true},
		"65001:1:bin(A/8=0{7}1;B/24=1*)": {true, true},
	} {
		q := mustPattern(t, text)
		if p.Covers(q) != want[0] || p.Overlaps(q) != want[1] || q.Overlaps(p) != want[1] {
			t.Errorf("%s and %s: covers %v, overlaps %v", p, q, p.Covers(q), p.Overlaps(q))
		}
	}
	// Every other number against every tenth one: too many parts, and still an answer.
	odd, tens := mustPattern(t, "65001:1:bin(A/31=.*;B/1=1)"), mustPattern(t, "65001:1:[0-9]*0")
	if odd.Covers(tens) || !odd.Overlaps(tens) {
		t.Error("the comparison that gives up claims to know")
	}
}

func TestMatchOfFieldsAllocatesNothing(t *testing.T) {
	p, q, v := mustPattern(t, "64500:dec(A/2=12;B/2=.*)"), mustPattern(t, "64500:bin(A/8=.*;B/8=1.*)"), mustValue(t, "64500:1234")
	if n := testing.AllocsPerRun(100, func() { p.Match(v); q.Match(v) }); n != 0 || !p.Match(v) || !q.Match(v) {
		t.Errorf("%v allocations, matches %v, %v", n, p.Match(v), q.Match(v))
	}
}

func TestATypeAndAnExtendedWordMeet(t *testing.T) {
	rt, two, four, stays := mustPattern(t, "rt:65001:nnn"), mustPattern(t, "0x00:0x02:65001:nnn"), mustPattern(t, "0x02:0x02:65001:nnn"), mustPattern(t, "0x40:0x02:65001:nnn")
	if !rt.Covers(two) || !rt.Covers(four) || two.Covers(rt) || !two.Overlaps(rt) || two.Overlaps(four) || rt.Overlaps(stays) ||
		!rt.Same(two) || !two.Same(rt) || two.Same(four) {
		t.Error("a pattern of a type and one of a word do not compare")
	}
}

func TestTypedValuesAreReadBack(t *testing.T) {
	for text, want := range map[string]string{
		"0x00:0x02:65010:1234":       "rt:65010:1234",
		"0x00:0x03:65001:4200000001": "ro:65001:4200000001",
		"0x01:0x02:192.0.2.1:5":      "rt:192.0.2.1:5",
		"0x02:0x02:4200000000:65535": "rt:4200000000:65535",
		"0x03:0x00:65001:1234":       "0x0300fde9000004d2",
		"0x00:0x08:10876:4338":       "0x00082a7c000010f2",
		"0x43:0x0b:1:4294967295":     "0x430b0001ffffffff",
		"0x41:0x02:192.0.2.1:5":      "0x4102c00002010005",
	} {
		v := mustValue(t, text)
		if v.String() != want || v.Typed() != text {
			t.Errorf("%s is %s, typed %s, want %s", text, v, v.Typed(), want)
		}
	}
	for text, want := range map[string]string{
		"0x00:0x02:70000:1":     "write type 0x02",
		"0x42:0x02:70000:65536": "write 0..65535",
		"0x01:0x02:65001:5":     "no IPv4 address",
		"0x01:0x02:1.2.3.4:5:6": "write TYPE:SUBTYPE:ASN:number",
		"0x1:0x02:65001:5":      "0x and two hexadecimal digits",
		"0x00:0xzz:65001:5":     "0x and two hexadecimal digits",
		"0x00:0x02:065001:5":    "leading zeros",
		"0x00:0x02:65001:x":     "no number",
	} {
		if v, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", text, v, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		if back, err := Parse(v.Typed()); err != nil || back != v {
			t.Fatalf("%v came back from %s as %v, %v", v, v.Typed(), back, err)
		}
		if p := PatternOf(v); p.Kind() != 0 && !p.Match(v) {
			t.Fatalf("%s is no pattern of %s", p, v)
		}
	})
}

func TestAHostileExpressionEndsEarlyAndALongListDoesNot(t *testing.T) {
	hostile := "64500:1:bin(A=" + strings.Repeat("(0?1?2?3?4?5?6?7?8?9?)", 180) + ")"
	if p, err := ParsePattern(hostile); err == nil || !strings.Contains(err.Error(), "too complex") {
		t.Errorf("%v, %v", p, err)
	}
	var list []string
	for n := range 800 {
		list = append(list, strconv.Itoa(1000+7*n))
	}
	p := mustPattern(t, "64500:dec(A="+strings.Join(list, "|")+")")
	if !p.Match(NewStandard(64500, 1007)) || p.Match(NewStandard(64500, 1008)) || p.segs[1].count != 800 {
		t.Errorf("a list of 800 numbers has %v", p.segs[1].count)
	}
}
