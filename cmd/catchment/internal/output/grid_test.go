package output

import (
	"strings"
	"testing"
)

func TestGridAlignsAndLeavesEmptyColumnsOut(t *testing.T) {
	g := Grid{Indent: "> ", Titles: []string{"NAME", "NONE", "STATE", "N"}}
	g.Row(Cell{Text: "a"}, Cell{}, Cell{Text: "up", Colour: Green}, Cell{Text: "1"})
	g.Row(Cell{Text: "größer"}, Cell{}, Cell{Text: "withdrawn", Colour: Red})
	g.Row(Cell{}, Cell{}, Cell{}, Cell{Text: "22"}, Cell{Text: "over the edge"})
	var out strings.Builder
	if err := g.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "> NAME    STATE      N\n" +
		"> a       \x1b[32mup\x1b[39m         1\n" +
		"> größer  \x1b[31mwithdrawn\x1b[39m\n" +
		">                    22\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

func TestGridWithoutRowsIsNothing(t *testing.T) {
	g := Grid{Titles: []string{"NAME"}}
	var out strings.Builder
	if err := g.Write(&out); err != nil || out.String() != "" {
		t.Errorf("error %v, got %q", err, out.String())
	}
}
