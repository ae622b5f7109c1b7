package problem

import "testing"

func TestProblemsAreLinesInTheirFilesOrder(t *testing.T) {
	e := Errors{{Text: "whole"}, {"f", 3, "b", "third"}, {"f", 2, "", "second"}, {"f", 3, "a", "also third"}, {"", 9, "", "no file"}, {"f", 0, "", "file"}}
	e.Sort()
	const want = "whole\nf: file\nf:2: second\nf:3: a: also third\nf:3: b: third\nline 9: no file"
	if got := e.Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
