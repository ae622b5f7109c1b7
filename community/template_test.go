package community

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawTemplate draws digits and letters, of which one at least is a letter.
func drawTemplate(t *rapid.T) string {
	return rapid.StringMatching(`0{0,3}[0-9xyz]{0,6}[xyz][0-9x]{0,3}`).Filter(func(s string) bool { return len(s) <= 10 }).Draw(t, "template")
}

// A template's numbers, told by their digits, are those of the automaton of its ERE.
func TestTemplatesAgreeWithTheirExpressions(t *testing.T) {
	for _, widest := range []uint32{0xFFFF, 0xFFFFFFFF} {
		rapid.Check(t, func(t *rapid.T) {
			s, err := parseSegment(drawTemplate(t), widest)
			if s.form != template {
				t.Skip("a placeholder")
			}
			a := compile(templateExpression(s.text), widest)
			if a == nil || (a.count() == 0) != (err != nil) {
				t.Fatalf("%s: error %v, automaton %+v", s.text, err, a)
			}
			if err != nil {
				return
			}
			if least, largest := a.extreme(10, true), a.extreme(10, false); s.count != a.count() || s.least != least || s.largest != largest {
				t.Fatalf("%s has %v numbers from %d to %d, its automaton %v from %d to %d", s.text, s.count, s.least, s.largest, a.count(), least, largest)
			}
			near := rapid.Uint32Range(s.least-min(s.least, 20), s.largest+min(widest-s.largest, 20))
			for range 50 {
				if n := near.Draw(t, "n"); s.match(n) != a.match(n) {
					t.Fatalf("%s matches %d: %v", s.text, n, s.match(n))
				}
			}
			length := len(s.text)
			for n := range uint32(2000) {
				padded := fmt.Sprintf("%0*d", length, n)
				if s.text[0] != '0' {
					padded = fmt.Sprint(n)
				}
				if want := n <= widest && fits(s.text, padded); s.match(n) != want {
					t.Fatalf("%s matches %d: %v, %s would %v", s.text, n, s.match(n), padded, want)
				}
			}
		})
	}
}

// fits compares digit by digit.
func fits(text, number string) bool {
	for i := range len(text) {
		if len(text) != len(number) || !isLetter(text[i]) && text[i] != number[i] {
			return false
		}
	}
	return true
}

// Templates, ranges and sets are compared by counting; the automata say the same.
func TestCountingAgreesWithAutomata(t *testing.T) {
	for _, widest := range []uint32{0xFFFF, 0xFFFFFFFF} {
		draw := func(t *rapid.T) segment {
			text := drawTemplate(t)
			if rapid.Bool().Draw(t, "ranged") {
				lo := rapid.Uint32Range(0, widest).Draw(t, "lo")
				hi := rapid.Uint32Range(lo, widest).Draw(t, "hi")
				text = fmt.Sprintf("{%d-%d,%d}", lo, hi, rapid.Uint32Range(0, widest).Draw(t, "n"))
			}
			s, err := parseSegment(text, widest)
			if err != nil {
				t.Skip(err)
			}
			return s
		}
		rapid.Check(t, func(t *rapid.T) {
			a, b := draw(t), draw(t)
			if _, ok := common(&a, &b); !ok {
				t.Skip("two sets, or a placeholder")
			}
			x, y := a.automaton(), b.automaton()
			if covers(&a, &b) != x.covers(y) || overlaps(&a, &b) != x.meets(y) {
				t.Fatalf("%s and %s: covers %v, overlaps %v; automata %v, %v", a.text, b.text, covers(&a, &b), overlaps(&a, &b), x.covers(y), x.meets(y))
			}
		})
	}
}

// What a template or a range costs to read, beside the automaton of a template, which
// reading it does not make: x-of-automaton is the ratio.
func BenchmarkParsePattern(b *testing.B) {
	for _, c := range []struct{ name, format string }{{"template", "%d:%dx"}, {"range", "%d:%d-60000"}, {"value", "%d:%d"}} {
		b.Run(c.name, func(b *testing.B) {
			var ours, automata time.Duration
			i := 0
			for b.Loop() {
				text := fmt.Sprintf(c.format, i%60000, i%6000)
				start := time.Now()
				p, err := ParsePattern(text)
				ours += time.Since(start)
				if err != nil {
					b.Fatal(err)
				}
				start = time.Now()
				compile(templateExpression(fmt.Sprintf("%dx", i%6000)), 0xFFFF)
				automata += time.Since(start)
				if p.segs[1].auto != nil {
					b.Fatal("an automaton")
				}
				i++
			}
			b.ReportMetric(float64(ours.Nanoseconds())/float64(i), "ns/pattern")
			b.ReportMetric(float64(automata.Nanoseconds())/float64(i), "ns/automaton")
			b.ReportMetric(ours.Seconds()/automata.Seconds(), "x-of-automaton")
		})
	}
}
