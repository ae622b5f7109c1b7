package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// pictures are those of docs/explanation/controller.md: go test ./lab/sim -run Pictures -results draws them anew.
var pictures = []struct{ scenario, controller, file string }{
	{"worldcup", "curve", "worldcup-curve.svg"},
	{"worldcup", "pi", "worldcup-pi.svg"},
	{"flash-crowd", "none", "flash-crowd-none.svg"},
	{"flash-crowd", "pi", "flash-crowd-pi.svg"},
}

const picturesIn = "../../docs/explanation/img"

// picture is the chart of a run, seed 1, as a file of its own: with the style of the page, for light and dark.
func picture(sc *Scenario, controller string) ([]byte, error) {
	var b bytes.Buffer
	p := &page{bufio.NewWriter(&b)}
	c := draw(sc, controller, 1)
	p.chart(sc, c, choose([]*curves{c}))
	if err := p.Flush(); err != nil {
		return nil, err
	}
	_, style, _ := strings.Cut(head, "<style>\n")
	style, _, _ = strings.Cut(style, "\nbody{")
	_, rest, _ := strings.Cut(head, "\ntext{")
	rest, _, _ = strings.Cut(rest, "\n.scroll{")
	style = fmt.Sprintf(" xmlns=\"http://www.w3.org/2000/svg\" style=\"background:var(--paper)\"><style>\n%s\ntext{%s\n</style>", style, rest)
	return bytes.Replace(b.Bytes(), []byte(">"), []byte(style), 1), nil
}

func TestPicturesOfTheExplanationAreThoseOfTheSimulator(t *testing.T) {
	for _, want := range pictures {
		t.Run(want.file, func(t *testing.T) {
			t.Parallel()
			drawn, err := picture(load(t, want.scenario), want.controller)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(picturesIn, want.file)
			if *writeResults {
				if err := os.WriteFile(file, drawn, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Other processors round otherwise in the last digit: the shape is compared, not each figure.
			digits := regexp.MustCompile(`\d+(\.\d+)?`)
			if !bytes.Equal(digits.ReplaceAll(drawn, []byte("N")), digits.ReplaceAll(kept, []byte("N"))) {
				t.Errorf("%s is another picture than the simulator draws; go test ./lab/sim -run Pictures -results draws it anew", file)
			}
			if len(kept) > 70<<10 {
				t.Errorf("%s has %d KiB", file, len(kept)>>10)
			}
		})
	}
}

// The README shows some of the figures that the page of the results has.
func TestTheREADMEHasTheFiguresOfTheResults(t *testing.T) {
	readme, err := pages.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	block, err := readme.Alone("Steer by load")
	if err != nil {
		t.Fatal(err)
	}
	results, err := pages.Read(resultsPage)
	if err != nil {
		t.Fatal(err)
	}
	table, err := results.Table("worldcup")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(block.Blocks()[0].Commands()[0].Output, "\n")
	controllers, found := strings.Fields(lines[1]), 0
	for _, line := range lines[2:] {
		cells := strings.Fields(line)
		column := 0
		if len(cells) > 1 {
			column = slices.Index(table.Header, strings.ReplaceAll(cells[0], "_", " "))
		}
		if column <= 0 {
			continue // ... and figures that the page does not have
		}
		for i, controller := range controllers {
			row := slices.IndexFunc(table.Rows, func(r []string) bool { return r[0] == "`"+controller+"`" })
			if row < 0 {
				t.Errorf("the results have no %s", controller)
				continue
			}
			found++
			if want := strings.ReplaceAll(table.Rows[row][column], " / ", "/"); cells[i+1] != want {
				t.Errorf("README: %s with %s is %s, and the results have %s", cells[0], controller, cells[i+1], want)
			}
		}
	}
	if found < 12 {
		t.Errorf("the README has %d figures", found)
	}
}
