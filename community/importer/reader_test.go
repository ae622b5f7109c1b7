package importer

import (
	"strings"
	"testing"
)

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestALineWithoutAnEndIsNoText(t *testing.T) {
	for _, f := range []Format{Auto, RPSL, NLNOG, Page} {
		if out, err := Read(zeros{}, "/dev/zero", f, Options{}); err == nil || !strings.Contains(err.Error(), "/dev/zero") || len(out.Entries) > 0 {
			t.Errorf("%s: %v, %v", f, out, err)
		}
	}
}

func TestAPackedFileIsNamedAsSuch(t *testing.T) {
	if _, err := Read(strings.NewReader("\x1f\x8b\x08\x00"), "ripe.db.gz", Auto, Options{}); err == nil || !strings.Contains(err.Error(), "--dump") {
		t.Error(err)
	}
}

func TestAPlaceholderOfTwoWordsNamesNobodyElse(t *testing.T) {
	out, err := Read(strings.NewReader("aut-num: AS64600\nremarks: 0:<peer ASN> do not announce to <peer ASN>\n"), "as64600.txt", Auto, Options{})
	if err != nil || len(out.Entries) != 1 || len(out.Entries[0].Targets) != 1 || out.Entries[0].Targets[0].Var != "<peer ASN>" {
		t.Errorf("%+v, %v", out, err)
	}
}
