package main

import (
	"bytes"
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

func TestTheManPageHasTheFlagsThatHelpShows(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-help"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	want := pages.HelpFlags(stderr.String())
	got, err := pages.ManFlags("cmd/catchment/internal/mancmd/catchment-central.8.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("the flags are\n%q, -help shows\n%q", got, want)
	}
}
