package community

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustPattern(t testing.TB, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustValue(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPatternsMatchWhatTheySay(t *testing.T) {
	for _, c := range []struct{ pattern, spelled, in, out string }{
		{"64500:7", "64500:7", "64500:7", "64500:70 64501:7 64500:0:7"},
		{"64519:007", "64519:007", "64519:7", "64519:70"},
		{"64512:4400-4499", "64512:4400-4499", "64512:4400 64512:4499", "64512:4399 64512:4500 64512:440"},
		{"64512:501..509", "64512:501..509", "64512:505", "64512:510"},
		{"65534:65000 - 65534:65010", "65534:65000-65010", "65534:65010", "65534:65011 65000:65000"},
		{"64512:{301, 302,310-312}", "64512:{301,302,310-312}", "64512:301 64512:311", "64512:303 64512:313"},
		{"64512:70xx", "64512:70xx", "64512:7000 64512:7099", "64512:70 64512:700 64512:7100 64512:70000"},
		{"65000:1xx", "65000:1xx", "65000:100 65000:199", "65000:10 65000:1000 65000:200"},
		{"64513:3NNx", "64513:3NNx", "64513:3120", "64513:4120 64513:312"},
		{"64503:PXX", "64503:PXX", "64503:101", "64503:1 64503:1010"},
		{"64508:CTLLL", "64508:CTLLL", "64508:16106 64508:65535", "64508:1610"},
		{"64500:0xx", "64500:0xx", "64500:0 64500:7 64500:99", "64500:100"},
		{"64500:001x", "64500:001x", "64500:10 64500:19", "64500:1 64500:100"},
		{"6500n:<ASN>", "6500n:<ASN>", "65001:174 65009:0", "65010:174"},
		{"0:<peer ASN>", "0:<peer ASN>", "0:1 0:65535", "1:1"},
		{"64521:nnn", "64521:nnn", "64521:0 64521:65535", "64522:1"},
		{"64521:$asn", "64521:$asn", "64521:174", "64522:174"},
		{"64521:[PEERASN]", "64521:[PEERASN]", "64521:174", "64522:174"},
		{"20473:200:peer-as", "20473:200:peer-as", "20473:200:4200000001", "20473:201:1"},
		{"64512:xyz", "64512:xyz", "64512:1", "64513:1"},
		{"64521:XXXXX", "64521:XXXXX", "64521:100", ""},
		{"201376:0:x", "201376:0:x", "201376:0:64500", "201376:1:64500"},
		{"64512:[0-9]+", "64512:[0-9]+", "64512:0 64512:65535", "64513:0"},
		{"64512:2[1-4]0", "64512:2[1-4]0", "64512:210 64512:240", "64512:250 64512:2100 64512:1210"},
		{"64512:1(0|1|2)5", "64512:1(0|1|2)5", "64512:105 64512:125", "64512:135"},
		{"64512:0|1", "64512:0|1", "64512:0 64512:1", "64512:10 64512:01"[:10]},
		{"64512:60*", "64512:60*", "64512:60 64512:600 64512:6099", "64512:6 64512:61"},
		{"207529:1*00:0", "207529:1*00:0", "207529:100:0 207529:1200:0", "207529:110:0"},
		{"(64517, 1, *)", "64517:1:*", "64517:1:4294967295", "64517:2:1"},
		{"(207529, <999,  0)", "207529:<999:0", "207529:998:0", "207529:999:0"},
		{"(0x, 00, 5)", "0x:00:5", "0:0:5 9:0:5", "10:0:5"},
		{"rt, 65009, 65100", "rt:65009:65100", "rt:65009:65100", "ro:65009:65100 65009:65100"},
		{"rt 65511-65513:nnn", "rt:65511-65513:nnn", "rt:65512:4200000000", "rt:65514:1"},
		{"soo 201376:1080", "ro:201376:1080", "ro:201376:1080", "rt:201376:1080"},
		{"4200000000-4200000010:1:0", "4200000000-4200000010:1:0", "4200000005:1:0", "4200000011:1:0"},
		{"(65534:<peer ASN>)", "65534:<peer ASN>", "65534:1", ""},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.String() != c.spelled {
			t.Errorf("%s is spelled %s, want %s", c.pattern, p, c.spelled)
		}
		if again, err := ParsePattern(p.String()); err != nil || again.String() != p.String() || again.Kind() != p.Kind() {
			t.Errorf("%s read again is %s, %v", p, again, err)
		}
		for _, text := range strings.Fields(c.in) {
			if !p.Match(mustValue(t, text)) {
				t.Errorf("%s does not match %s", p, text)
			}
		}
		for _, text := range strings.Fields(c.out) {
			v, err := Parse(text)
			if err == nil && p.Match(v) {
				t.Errorf("%s matches %s", p, text)
			}
		}
	}
}

func TestWhatIsNoPatternIsRefusedWithAReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "not a pattern",
		"64500":                         "not a pattern",
		"64500:":                        "a number is missing",
		"1:2:3:4":                       "not a pattern",
		"64519:70000":                   "out of range",
		"70000:1":                       "a large one (70000:0:1)",
		"64519:1:4294967296":            "out of range",
		"64519:9-1":                     "ends before it begins",
		"64519:{1,2":                    "has no end",
		"64519:{1,b}":                   "a set has numbers and ranges",
		"64519:7xxxx":                   "out of range",
		"64519:<0":                      "less than 0",
		"64519:[0-9":                    "neither a number",
		"64519:(1":                      "neither a number",
		"1:2 - 3:4":                     "may differ in the last number only",
		"rt:1:2:3":                      "an extended community is",
		"1:" + strings.Repeat("1", 300): "longer than",
		"64519:(1{900}){900}":           "neither a number",
	} {
		p, err := ParsePattern(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want an error with %q", text, p, err, want)
		}
	}
}

func TestTheMoreSpecificPatternComesFirst(t *testing.T) {
	order := []string{"64512:15", "64512:2[1-4]0", "64512:10-19", "64512:1x0", "64512:1xx", "64512:60*", "64512:[0-9]+", "64512:nnn"}
	for i := range order {
		for j := range order {
			c := mustPattern(t, order[i]).Compare(mustPattern(t, order[j]))
			if want := i - j; c*want < 0 || (c == 0) != (want == 0) {
				t.Errorf("%s against %s: %d", order[i], order[j], c)
			}
		}
	}
}

func TestVariablesAreBoundAndFilled(t *testing.T) {
	for _, c := range []struct{ pattern, value, bound string }{
		{"64513:3NNx", "64513:3042", "NN=04 x=2"},
		{"6500n:<ASN>", "65002:174", "n=2 <ASN>=174"},
		{"64500:0xx", "64500:7", "xx=07"},
		{"20473:200:peer-as", "20473:200:4200000001", "peer-as=4200000001"},
		{"rt:65000:ASN", "rt:65000:4200000001", "ASN=4200000001"},
		{"64512:4400-4499", "64512:4400", ""},
	} {
		p, v := mustPattern(t, c.pattern), mustValue(t, c.value)
		bound, ok := p.Bind(v)
		var texts []string
		set := map[string]string{}
		for _, b := range bound {
			texts = append(texts, b.Name+"="+b.Text)
			set[b.Name] = b.Text
		}
		if got := strings.Join(texts, " "); !ok || got != c.bound {
			t.Errorf("%s binds %q, %v, want %q", p, got, ok, c.bound)
		}
		if c.bound == "" {
			continue
		}
		if got := fmt.Sprint(p.Names()); len(bound) != len(p.Names()) {
			t.Errorf("%s names %s", p, got)
		}
		again, err := p.Fill(func(name string) (string, bool) { d, ok := set[name]; return d, ok })
		if err != nil || again != v {
			t.Errorf("%s filled with %s: %v, %v", p, c.bound, again, err)
		}
	}
	full := func(digits string) func(string) (string, bool) {
		return func(string) (string, bool) { return digits, digits != "" }
	}
	for text, want := range map[string]string{
		"65000:<ASN> 4200000001": "use a large one",
		"65000:<ASN> ten":        "which is no number",
		"65000:1x 17":            "has room for 1 digits",
		"65000:nnn ":             "is not given",
		"65000:1-9 1":            "no variable",
	} {
		pattern, digits, _ := strings.Cut(text, " ")
		if v, err := mustPattern(t, pattern).Fill(full(digits)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", text, v, err, want)
		}
	}
}

// segments are drawn with a slow matcher of the decimal text beside each.
func drawSegment(t *rapid.T, widest uint32) (text string, slow func(uint32) bool) {
	small := rapid.Uint32Range(0, widest)
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		n := small.Draw(t, "n")
		return strconv.FormatUint(uint64(n), 10), func(v uint32) bool { return v == n }
	case 1:
		lo := small.Draw(t, "lo")
		hi := rapid.Uint32Range(lo, widest).Draw(t, "hi")
		return fmt.Sprintf("%d-%d", lo, hi), func(v uint32) bool { return lo <= v && v <= hi }
	case 2:
		n := rapid.Uint32Range(10, 65535).Draw(t, "template")
		digits := []byte(strconv.FormatUint(uint64(n), 10))
		digits[rapid.IntRange(1, len(digits)-1).Draw(t, "open")] = 'x'
		re := regexp.MustCompile("^" + strings.ReplaceAll(string(digits), "x", "[0-9]") + "$")
		return string(digits), func(v uint32) bool { return re.MatchString(strconv.FormatUint(uint64(v), 10)) }
	case 3:
		text := rapid.SampledFrom([]string{"[1-5]", "2[1-4]0?", "1(0|1|2)+5", "[0-9]*7", "(1|22|333)(4|5)*", "6.{2}"}).Draw(t, "ere")
		re := regexp.MustCompilePOSIX("^(" + text + ")$")
		return text, func(v uint32) bool { return re.MatchString(strconv.FormatUint(uint64(v), 10)) }
	case 4:
		return "nnn", func(uint32) bool { return true }
	}
	a, b := small.Draw(t, "a"), small.Draw(t, "b")
	return fmt.Sprintf("{%d,%d}", a, b), func(v uint32) bool { return v == a || v == b }
}

// checkFew is rapid.Check for a property that walks over all numbers: 25 examples, which
// differ from run to run, are enough of it.
func checkFew(t *testing.T, property func(*rapid.T)) {
	left := 25
	rapid.Check(t, func(t *rapid.T) {
		if left > 0 {
			property(t)
			left--
		}
	})
}

func TestSetsOfNumbersAgreeWithASlowMatcher(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		a, slowA := drawSegment(t, 0xFFFF)
		b, slowB := drawSegment(t, 0xFFFF)
		p, err := ParsePattern("64500:" + a)
		if err != nil {
			t.Skip(err) // a template out of range
		}
		q, err := ParsePattern("64500:" + b)
		if err != nil {
			t.Skip(err)
		}
		covers, overlaps, count := true, false, 0
		for n := range uint32(0x10000) {
			inA, inB := slowA(n), slowB(n)
			if inA {
				count++
			}
			covers, overlaps = covers && (inA || !inB), overlaps || inA && inB
			if got := p.Match(NewStandard(64500, uint16(n))); got != inA {
				t.Fatalf("%s matches %d: %v", p, n, got)
			}
		}
		if lo, hi := p.Bounds(); !slowA(lo[1]) || !slowA(hi[1]) || lo[1] > hi[1] {
			t.Fatalf("%s is from %v to %v", p, lo, hi)
		}
		if p.Covers(q) != covers || p.Overlaps(q) != overlaps || q.Overlaps(p) != overlaps {
			t.Fatalf("%s and %s: covers %v, overlaps %v, %v, want %v, %v", p, q, p.Covers(q), p.Overlaps(q), q.Overlaps(p), covers, overlaps)
		}
		if got, want := p.Same(q), covers && p.segs[1].count == q.segs[1].count; got != want {
			t.Fatalf("%s and %s are the same: %v", p, q, got)
		}
		if got := p.segs[1].count; got != float64(count) {
			t.Fatalf("%s has %v numbers, want %d", p, got, count)
		}
	})
}

func TestEveryNumberIsBetweenItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint32().Draw(t, "lo")
		hi := rapid.Uint32Range(lo, 0xFFFFFFFF).Draw(t, "hi")
		a := compile(strings.Join(between(lo, hi), "|"), 0xFFFFFFFF)
		if a == nil || a.count() != float64(hi-lo)+1 {
			t.Fatalf("%d to %d: %v", lo, hi, between(lo, hi))
		}
		for _, n := range []uint32{lo, hi, rapid.Uint32().Draw(t, "n")} {
			if a.match(n) != (lo <= n && n <= hi) {
				t.Fatalf("%d to %d: %d is %v", lo, hi, n, a.match(n))
			}
		}
	})
}

func TestMatchAllocatesNothing(t *testing.T) {
	p, v := mustPattern(t, "64500:1[0-9]+x*"), mustValue(t, "64500:1234")
	q := mustPattern(t, "64500:12xx")
	if n := testing.AllocsPerRun(100, func() { p.Match(v); q.Match(v) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"64512:{301,302}", "6500n:<ASN>", "rt, 65009, 65100", "(207529, <999,  0)", "65534:1 - 65534:2", "64512:1(0|1|2)5", "1:(((", "é:1", "65001:dec(A/3=200;B/1=[1-5])", "0x00:0x08:1:bin(R/16=0*;S/16=.*)", "1:dec(A%2F=[%28])", "0x,00,00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		again, err := ParsePattern(p.String())
		if err != nil || again.String() != p.String() || again.Kind() != p.Kind() || again.Compare(p) != 0 {
			t.Fatalf("%q is %q, read again %q, %v", text, p, again, err)
		}
		if v, ok := p.Value(); ok && !p.Match(v) {
			t.Fatalf("%q does not match its own value %s", p, v)
		}
		if !p.Overlaps(p) || !p.Covers(p) {
			t.Fatalf("%q does not cover itself", p)
		}
	})
}

func TestANameOfSeveralWordsKeepsItsBlanks(t *testing.T) {
	for text, want := range map[string]string{
		"65001:200:Transit ASN": "65001:200:Transit ASN",
		"65001:100 :0":          "65001:100:0",
		"65001:Peer  ASN":       "65001:Peer ASN",
		"65001:4400 - 4499":     "65001:4400-4499",
	} {
		p, err := ParsePattern(text)
		if err != nil || p.String() != want {
			t.Errorf("%s was read as %s, error %v; want %s", text, p, err, want)
		}
		again, err := ParsePattern(p.String())
		if err != nil || again.String() != want {
			t.Errorf("%s was read again as %s, error %v", p, again, err)
		}
	}
}
