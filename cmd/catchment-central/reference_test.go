package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

func TestTheReferenceHasTheFlagsThatHelpShows(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-help"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var want [][]string
	for _, m := range regexp.MustCompile(`(?m)^  -(.*)\n    \t(.*)$`).FindAllStringSubmatch(stderr.String(), -1) {
		usage, standard, _ := strings.Cut(strings.TrimSuffix(m[2], ")"), " (default ")
		if standard == "" {
			usage = m[2]
		} else {
			standard = "`" + strings.Trim(standard, `"`) + "`"
		}
		want = append(want, []string{"`--" + m[1] + "`", standard, usage})
	}
	page, err := pages.Read("docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := page.Table("catchment-central")
	if err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 || fmt.Sprintf("%q", table.Rows) != fmt.Sprintf("%q", want) {
		t.Errorf("%s:%d: the flags are\n%q, -help shows\n%q", page.Path, table.Line, table.Rows, want)
	}
	for _, code := range []string{fmt.Sprint(exitDone), fmt.Sprint(exitFailed), fmt.Sprint(exitUsage)} {
		if codes, err := page.Table("Exit codes"); err != nil || !strings.Contains(fmt.Sprint(codes.Rows), "["+code+" ") {
			t.Errorf("exit code %s is not there (%v)", code, err)
		}
	}
}
