package packages

import (
	"os/exec"
	"slices"
	"testing"
)

func TestPackageVersionsSortAsReleasesDo(t *testing.T) {
	tools(t, "dpkg")
	tests := []struct{ described, want string }{ // oldest first
		{"eed891c", "0.0.0+20260301120000.eed891c"},
		{"eed891c-dirty", "0.0.0+20260301120000.eed891c.dirty"},
		{"v0.9.0", "0.9.0"},
		{"v1.2.3-rc.1", "1.2.3~rc.1"},
		{"v1.2.3-rc.1-2-gabc1234", "1.2.3~rc.1+2.gabc1234"},
		{"v1.2.3-rc.2", "1.2.3~rc.2"},
		{"v1.2.3", "1.2.3"},
		{"v1.2.3-5-gabc1234", "1.2.3+5.gabc1234"},
		{"v1.2.3-5-gabc1234-dirty", "1.2.3+5.gabc1234.dirty"},
		{"v1.2.3-dirty", "1.2.3+dirty"},
		{"1.2.4", "1.2.4"},
	}
	before := ""
	for _, test := range tests {
		got := say(t, "../../deploy/packages/version", test.described, epoch)
		if got != test.want+"\n" {
			t.Errorf("%s: %q, want %q", test.described, got, test.want)
		}
		if before != "" && exec.CommandContext(t.Context(), "dpkg", "--compare-versions", before, "lt", test.want).Run() != nil {
			t.Errorf("%s does not sort before %s", before, test.want)
		}
		before = test.want
	}
}

func TestWhatIsNoReleaseIsAVersionAllTheSame(t *testing.T) {
	tools(t, "dpkg")
	for _, described := range []string{"1234567", "dev", "feature/x y", "v1.2", "v1.2.3.4"} {
		got := say(t, "../../deploy/packages/version", described, epoch)
		if !slices.Contains([]byte(got), '+') || got[:6] != "0.0.0+" {
			t.Errorf("%s: %q", described, got)
		}
		say(t, "dpkg", "--validate-version", got[:len(got)-1])
	}
}
