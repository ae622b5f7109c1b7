package output

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWidthIsThatOfATerminal(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "msk1": 4, "Москва": 6, "東京": 4, "ｆｕｌｌ": 8, "e\u0301": 1, "é": 1, "🚦": 2, "한국": 4, "…": 1, "█▌░": 3,
	} {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

func TestFitCutsAndFills(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"msk1", 6, "msk1  "}, {"msk1", 4, "msk1"}, {"msk1", 3, "ms…"}, {"msk1", 1, "…"}, {"msk1", 0, ""}, {"msk1", -3, ""},
		{"東京", 4, "東京"}, {"東京", 3, "東…"}, {"東京", 2, "… "}, {"", 2, "  "},
	} {
		if got := Fit(tt.s, tt.n); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestFitIsAsWideAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := OneLine(rapid.String().Draw(t, "s")), rapid.IntRange(0, 20).Draw(t, "n")
		if got := Fit(s, n); Width(got) != n || strings.ContainsRune(got, '\n') {
			t.Fatalf("%q in %d columns is %q, %d wide", s, n, got, Width(got))
		}
	})
}

func TestColumnsAlignUnderWideTexts(t *testing.T) {
	g := Grid{Titles: []string{"NODE", "SITE"}}
	g.Row(Cell{Text: "東京東京1"}, Cell{Text: "tokyo"})
	g.Row(Cell{Text: "msk1"}, Cell{Text: "moscow"})
	var out strings.Builder
	if err := g.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "NODE       SITE\n東京東京1  tokyo\nmsk1       moscow\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
