package policy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// A transcript is a story: lines that begin with "> " are played, what is said
// after each is what the decisions say. A line is a time since the start and what
// is the case from then on; what it does not name stays as it was:
//
//	> 10s hard=down(web: refused) soft=up back4=down
//	> 20s drain(kernel upgrade) at=a for=1h drain=30s
//	> 30s auto
//	> 40s restart
//
// The decision is asked for at each line and at each wake before the next.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !*update && !bytes.Equal(got, want) {
				t.Errorf("%s; go test ./policy -run Transcripts -update writes it anew. Now:\n%s", file, got)
			}
		})
	}
}

// player plays a transcript.
type player struct {
	t     *testing.T
	out   bytes.Buffer
	state State
	in    Input
	last  []string
	wake  time.Time
}

func replay(t *testing.T, text string) []byte {
	p := &player{t: t, in: Input{Now: t0, Health: map[string]Health{}}}
	for line := range strings.Lines(text) {
		switch command, played := strings.CutPrefix(line, "> "); {
		case played:
			p.play(strings.TrimSpace(command))
		case strings.HasPrefix(line, "#"):
			p.out.WriteString(line)
		}
	}
	return p.out.Bytes()
}

// play asks at every wake until the command's time, then takes the command in.
func (p *player) play(command string) {
	when, rest, _ := strings.Cut(command, " ")
	d, err := time.ParseDuration(when)
	if err != nil {
		p.t.Fatalf("%q: %v", command, err)
	}
	now := at(d)
	for !p.wake.IsZero() && p.wake.Before(now) {
		p.ask(p.wake)
	}
	fmt.Fprintf(&p.out, "> %s\n", command)
	for _, word := range fields(rest) {
		p.take(now, word)
	}
	p.ask(now)
}

// fields splits at spaces outside of parentheses.
func fields(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ' ' && depth == 0
	})
}

func (p *player) take(now time.Time, word string) {
	key, value, _ := strings.Cut(word, "=")
	name, detail, _ := strings.Cut(strings.TrimSuffix(value, ")"), "(")
	verdict := map[string]Verdict{"up": Up, "down": Down, "unknown": Unknown}[name]
	h := p.in.Health["video"]
	verb, reason, isVerb := strings.Cut(strings.TrimSuffix(key, ")"), "(")
	n := len(p.in.Overrides)
	switch {
	case key == "hard":
		h.Hard, h.HardDetail = verdict, detail
	case key == "soft":
		h.Soft, h.SoftDetail = verdict, detail
	case key == "back4":
		p.in.WayBack4 = verdict
	case key == "back6":
		p.in.WayBack6 = verdict
	case key == "restart":
		p.state = restart(p.t, p.state)
	case key == "auto":
		p.in.Overrides = nil
	case key == "at":
		p.in.Overrides[n-1].Neighbor = value
	case key == "for":
		p.in.Overrides[n-1].Until = now.Add(p.duration(value))
	case key == "drain":
		p.in.Overrides[n-1].WithdrawAt = now.Add(p.duration(value))
	case key == "even-if-dead":
		p.in.Overrides[n-1].EvenIfDead = true
	case isVerb:
		o := Override{Service: "video", Reason: reason, Since: now}
		if err := o.Verb.UnmarshalText([]byte(verb)); err != nil {
			p.t.Fatal(err)
		}
		p.in.Overrides = append(p.in.Overrides[:n:n], o)
	default:
		p.t.Fatalf("%q is no word of a transcript", word)
	}
	p.in.Health = map[string]Health{"video": h}
}

func (p *player) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// ask decides and writes down what is new.
func (p *player) ask(now time.Time) {
	p.in.Now = now
	var d Decision
	p.state, d = Next(node(), p.state, p.in)
	p.wake = d.Wake
	sd := d.Services[0]
	lines := []string{fmt.Sprintf("%s %s: %s", sd.Name, sd.Severity, sd.Reason) + inBrackets(sd.Detail)}
	for _, n := range sd.Neighbors {
		lines = append(lines, fmt.Sprintf("  %s: ipv4 %s, ipv6 %s", n.Name, n.IPv4.Severity, n.IPv6.Severity))
	}
	if fmt.Sprint(lines) == fmt.Sprint(p.last) {
		return
	}
	p.last = lines
	fmt.Fprintf(&p.out, "%v\n", now.Sub(t0))
	for _, line := range lines {
		fmt.Fprintf(&p.out, "  %s\n", line)
	}
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
