package procstat

import (
	"slices"
	"testing"
)

func TestFieldsBeginBehindTheName(t *testing.T) {
	for _, c := range []struct {
		stat string
		want []string
	}{
		{"1 (sh) S 0 1\n", []string{"S", "0", "1"}},
		{"1 (a) b) (c) R 7", []string{"R", "7"}},
		{"", nil},
		{"S 0", []string{"S", "0"}},
	} {
		if got := Fields(c.stat); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.stat, got, c.want)
		}
	}
}
