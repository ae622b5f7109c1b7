package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMedianAndWorst(t *testing.T) {
	for _, c := range []struct {
		series        Series
		median, worst time.Duration
	}{
		{nil, 0, 0},
		{Series{3}, 3, 3},
		{Series{9, 1}, 1, 9},
		{Series{5, 9, 1}, 5, 9},
	} {
		if c.series.Median() != c.median || c.series.Worst() != c.worst {
			t.Errorf("%v: median %v, worst %v", c.series, c.series.Median(), c.series.Worst())
		}
	}
}

func TestFiguresAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if err := WriteJSON(path, map[string]Series{"a": {2500 * time.Microsecond}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Join(strings.Fields(string(text)), "") != `{"a":{"median_ms":2.5,"runs_ms":[2.5],"worst_ms":2.5}}` {
		t.Errorf("%s, %v", text, err)
	}
	if err := WriteJSON("", nil); err != nil {
		t.Error(err)
	}
}

func TestTableLinesUp(t *testing.T) {
	if got, want := Table([][]string{{"", "b"}, {"aaa", "1"}}), "      b\naaa   1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
