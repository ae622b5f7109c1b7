package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// brief is a scenario cut short, for tests that need no more.
func brief(t testing.TB, name string, d time.Duration) *Scenario {
	t.Helper()
	sc := load(t, name)
	sc.Duration, sc.Window, sc.Variants = d, Window{d / 2, d}, nil
	return sc
}

func TestARunDependsOnItsSeedAlone(t *testing.T) {
	hot := parse(t, "hot", hotSite)
	hot.Duration, hot.Window.To = 70*time.Minute, 70*time.Minute
	for _, sc := range []*Scenario{hot, brief(t, "worldcup", 20*time.Minute)} {
		for _, controller := range append(Controllers(), Oracle) {
			a, b := Run(sc, controller, 3, nil), Run(sc, controller, 3, nil)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s with %s: the same seed gave\n%v\n%v", sc.Name, controller, a, b)
			}
			if c := Run(sc, controller, 4, nil); fmt.Sprint(a) == fmt.Sprint(c) {
				t.Errorf("%s with %s: another seed gave the same", sc.Name, controller)
			}
		}
	}
}

func TestHowManyDecideAtOnceMakesNoDifference(t *testing.T) {
	sc := parse(t, "fleet", fleet(40, 2, "1h", "10s"))
	one, many := play(sc, "pi", 1, 1, nil), play(sc, "pi", 1, 3, nil)
	if fmt.Sprint(one) != fmt.Sprint(many) {
		t.Errorf("one by one:\n%v\nthree at once:\n%v", one, many)
	}
}

func TestTheControllersMeetTheSameWorld(t *testing.T) {
	sc := brief(t, "flash-crowd", 20*time.Minute) // nothing has happened yet
	var first Figures
	for i, controller := range []string{"none", "pi", "curve", "greedy"} {
		f := Run(sc, controller, 1, nil)
		if i == 0 {
			first = f
		} else if f[Peak] != first[Peak] || f[PeakToPeak] != first[PeakToPeak] {
			t.Errorf("%s saw a peak of %v, none one of %v", controller, f[Peak], first[Peak])
		}
	}
}

func TestOnlyTheClientsOfALostNodeMove(t *testing.T) {
	sc := load(t, "node-loss")
	w := newRouted(sc, 1)
	h := &hands{routed: w}
	h.pass(time.Minute)
	before := make([][][]part, len(w.groups))
	for g := range w.groups {
		for _, p := range w.groups[g].parts {
			before[g] = append(before[g], slices.Clone(p))
		}
	}
	h.fall(0, true)
	h.pass(4 * time.Minute)
	moved := 0
	for g := range w.groups {
		for k, was := range before[g] {
			there := shareAt(was, 0) > 0
			if changed := fmt.Sprint(was) != fmt.Sprint(w.groups[g].parts[k]); changed != there {
				t.Errorf("group %d was at the lost site: %v; it moved: %v", g, there, changed)
			} else if changed {
				moved++
			}
		}
	}
	if moved == 0 {
		t.Error("nobody moved")
	}
}

func TestCompareKeepsTheContract(t *testing.T) {
	sc := brief(t, "worldcup", 20*time.Minute)
	v := *sc
	v.Name, v.Metrics.Period = "fast", 10*time.Second
	sc.Variants = []*Scenario{&v}
	r, err := Compare(t.Context(), sc, Options{Seeds: 3, Controllers: []string{"pi", "none", "pi"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Results{r})
	if err != nil {
		t.Fatal(err)
	}
	type figure struct{ Median, Worst *float64 }
	var got struct {
		Scenario    string
		Seeds       int
		Controllers map[string]map[string]figure
		Oracle      map[string]figure
		Variants    []struct{ Scenario string }
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var loose any
	if err := json.Unmarshal(text, &loose); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Scenario != "worldcup" || got.Seeds != 3 || len(got.Controllers) != 2 || len(got.Variants) != 1 || got.Variants[0].Scenario != "fast" {
		t.Errorf("%s", text)
	}
	for _, c := range []map[string]figure{got.Controllers["pi"], got.Controllers["none"], got.Oracle} {
		if len(c) != len(AllFigures()) {
			t.Errorf("%d figures", len(c))
		}
		for name, f := range c {
			if f.Median == nil || f.Worst == nil {
				t.Errorf("%s has no median or no worst", name)
			}
		}
	}
	two, err := json.Marshal(Results{r, r})
	if err != nil || two[0] != '[' || text[0] != '{' {
		t.Errorf("one begins with %c, two with %c (%v)", text[0], two[0], err)
	}
}

func TestOneLinkHasNoAntiphase(t *testing.T) {
	f := Run(parse(t, "tiny", tiny), "none", 1, nil)
	if text, err := json.Marshal(summarize([]Figures{f})); err != nil || strings.Contains(string(text), "antiphase") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestCompareRefusesWhatItDoesNotKnow(t *testing.T) {
	sc := parse(t, "tiny", tiny)
	if _, err := Compare(t.Context(), sc, Options{Seeds: 1, Controllers: []string{"magic"}}); err == nil || !strings.Contains(err.Error(), `no controller "magic"; there are none, threshold`) {
		t.Error(err)
	}
	if _, err := Compare(t.Context(), sc, Options{}); err == nil {
		t.Error("no seeds were taken")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ended, sc, Options{Seeds: 1000}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTraceHasEachLinkAtEachStep(t *testing.T) {
	sc := brief(t, "worldcup", 2*time.Minute)
	var out bytes.Buffer
	if err := Trace(&out, sc, "curve", 1); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+2*120 || lines[0] != "time,link,load,capacity,rung,slowdown,drop" || !strings.HasPrefix(lines[3], "1,arena/a,") ||
		!strings.HasSuffix(lines[3], ",500000000000,0,0.0000,0.0000") {
		t.Errorf("%d lines; %q, %q", len(lines), lines[0], lines[3])
	}
	if err := Trace(brokenWriter{}, sc, "none", 1); err == nil {
		t.Error("an error of the writer is not told")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWhyTellsEachMove(t *testing.T) {
	sc := load(t, "flash-crowd")
	sc.Duration = 50 * time.Minute
	var out bytes.Buffer
	if err := Why(&out, sc, "pi", 1); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "s1 edge 0, regional: rung 1, penalty") || !strings.Contains(text, "0:00:00 s1 edge 0, national: rung 0") {
		t.Errorf("it says\n%s", text)
	}
}

func TestThePageNeedsNoNetwork(t *testing.T) {
	var scenarios []*Scenario
	var results []Result
	hot := parse(t, "hot", hotSite)
	hot.Duration, hot.Window = 70*time.Minute, Window{50 * time.Minute, 70 * time.Minute}
	for _, sc := range []*Scenario{brief(t, "worldcup", 20*time.Minute), hot} {
		sc.About = "<script>alert(1)</script>"
		r, err := Compare(t.Context(), sc, Options{Seeds: 1, Controllers: []string{"pi", "curve"}})
		if err != nil {
			t.Fatal(err)
		}
		scenarios, results = append(scenarios, sc), append(results, r)
	}
	var out, again bytes.Buffer
	if err := Plot(&out, scenarios, results, 1); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, bad := range []string{"http", "src=", "href=", "@import", "url(", "<script", "NaN", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(page, "<svg"); n != 6 || strings.Count(page, "</svg>") != n {
		t.Errorf("%d charts, want one for each of two controllers and the oracle, twice", n)
	}
	for _, want := range []string{"prefers-color-scheme:dark", `class="cap"`, `class="target"`, "rung 0 to 1</title>", "overload_seconds", "hot/a"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if err := Plot(&again, scenarios, results, 1); err != nil || again.String() != page {
		t.Errorf("a second page differs (%v)", err)
	}
	if err := Plot(brokenWriter{}, scenarios, results, 1); err == nil {
		t.Error("an error of the writer is not told")
	}
}
