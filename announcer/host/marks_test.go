package host

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLabelFitsAndIsKnown(t *testing.T) {
	for iface, want := range map[string]string{
		"lo": "lo:catchment", "eth0": "eth0:catchment", "eth10": "eth10:catchment", "dummy0": "dummy0:ctch",
		"enp129s0f1np1": "enp129s0f1:ctch", "abcdefghijklmno": "abcdefghij:ctch",
	} {
		if got := label(iface); got != want {
			t.Errorf("label(%q) = %q, want %q", iface, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		iface := rapid.StringMatching(`[a-z][a-z0-9.@_-]{0,14}`).Draw(t, "interface")
		if l := label(iface); len(l) > 15 || !isOurLabel(l) || isOurLabel(iface) {
			t.Fatalf("label %q of %q", l, iface)
		}
	})
}

func TestCheckVIP(t *testing.T) {
	for text, want := range map[string]string{
		"198.51.100.1/32":       "",
		"2001:db8::1/128":       "",
		"10.0.0.1/32":           "",
		"fd00::1/128":           "",
		"198.51.100.1/24":       "198.51.100.1/24 is not a single address: write 198.51.100.1/32",
		"2001:db8::1/64":        "2001:db8::1/64 is not a single address: write 2001:db8::1/128",
		"127.0.0.1/32":          "127.0.0.1 is not a unicast address that others can reach",
		"224.0.0.5/32":          "224.0.0.5 is not a unicast address that others can reach",
		"0.0.0.0/32":            "0.0.0.0 is not a unicast address that others can reach",
		"255.255.255.255/32":    "255.255.255.255 is not a unicast address that others can reach",
		"fe80::1/128":           "fe80::1 is not a unicast address that others can reach",
		"::1/128":               "::1 is not a unicast address that others can reach",
		"::ffff:192.0.2.1/128":  "::ffff:192.0.2.1 is not a unicast address that others can reach",
		"invalid, the zero one": "not an address: invalid Prefix",
	} {
		p, _ := netip.ParsePrefix(text)
		got := ""
		if err := CheckVIP(p); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckVIP(%s) = %q, want %q", text, got, want)
		}
	}
}

func TestBadVIPLeavesTheOthers(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, t.TempDir())
	err := v.Set(map[string][]netip.Prefix{"lo": prefixes("198.51.100.0/24", "198.51.100.1/32")})
	if err == nil || !strings.Contains(err.Error(), "write 198.51.100.0/32") {
		t.Errorf("error %v", err)
	}
	n.want(t, "lo", "198.51.100.1/32", true)
	n.want(t, "lo", "198.51.100.0/24", false)
}

// The tests below play a kernel before 5.18, which drops IFA_PROTO.
func oldKernel(t *testing.T, n *testNet, dir string) *VIPs {
	t.Helper()
	v, _ := newVIPs(t, n, dir)
	v.noMarks = true
	return v
}

func TestRecordFindsIPv6OfKilledRunOnOldKernel(t *testing.T) {
	n := newNet(t)
	dir := t.TempDir()
	n.addAddr(t, "lo", "2001:db8:100::7/128")
	first := oldKernel(t, n, dir)
	must(t, first.Set(both))
	if _, err := os.Stat(filepath.Join(dir, "vips.json")); err != nil {
		t.Fatalf("no record: %v", err)
	}
	must(t, first.Close())

	second := oldKernel(t, n, dir)
	must(t, second.Set(map[string][]netip.Prefix{"lo": prefixes("198.51.100.1/32")}))
	n.want(t, "lo", "2001:db8:100::1/128", false)
	n.want(t, "lo", "2001:db8:100::7/128", true)
	n.want(t, "lo", "198.51.100.1/32", true)
	must(t, second.Set(nil))
	n.want(t, "lo", "198.51.100.1/32", false)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("state directory holds %v (%v), want nothing", list, err)
	}
}

func TestRecordIsWrittenBeforeTheAddress(t *testing.T) {
	n := newNet(t)
	v := oldKernel(t, n, filepath.Join(t.TempDir(), "absent"))
	err := v.Set(both)
	if err == nil || !strings.Contains(err.Error(), "VIP 2001:db8:100::1/128 on lo: not added, since it could not be written down as ours") {
		t.Errorf("error %v", err)
	}
	n.want(t, "lo", "2001:db8:100::1/128", false)
	n.want(t, "lo", "198.51.100.1/32", true)
}

func TestFullDiskStopsNoVIPWhereTheKernelMarks(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, filepath.Join(t.TempDir(), "absent"))
	must(t, v.Set(both))
	n.want(t, "lo", "2001:db8:100::1/128", true)
}

// What is not surely ours stays: a lost or spoilt record, one of another boot,
// or an address that does not look like a VIP of ours.
func TestDoubtfulRecordRemovesNothing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, n *testNet, path string)
	}{
		{"lost", func(t *testing.T, _ *testNet, path string) { must(t, os.Remove(path)) }},
		{"cut short", func(t *testing.T, _ *testNet, path string) { must(t, os.Truncate(path, 20)) }},
		{"of another boot", func(t *testing.T, _ *testNet, path string) {
			l, err := openLedger(filepath.Dir(path))
			must(t, err)
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), l.boot, "another")), 0o600))
		}},
		{"added anew by somebody else", func(t *testing.T, n *testNet, _ string) {
			n.delAddr(t, "lo", "2001:db8:100::1/128")
			n.addAddr(t, "lo", "2001:db8:100::1/128")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNet(t)
			dir := t.TempDir()
			first := oldKernel(t, n, dir)
			must(t, first.Set(both))
			must(t, first.Close())
			tc.spoil(t, n, filepath.Join(dir, "vips.json"))
			must(t, oldKernel(t, n, dir).Set(nil))
			n.want(t, "lo", "2001:db8:100::1/128", true)
			n.want(t, "lo", "198.51.100.1/32", false)
		})
	}
}

// A record counts for nothing once the kernel shows marks: the address without
// one is somebody else's.
func TestMarkGoesBeforeRecord(t *testing.T) {
	n := newNet(t)
	dir := t.TempDir()
	first := oldKernel(t, n, dir)
	must(t, first.Set(both))
	must(t, first.Close())
	second, _ := newVIPs(t, n, dir)
	must(t, second.Set(nil))
	n.want(t, "lo", "2001:db8:100::1/128", true)
	if _, err := os.Stat(filepath.Join(dir, "vips.json")); !os.IsNotExist(err) {
		t.Errorf("the record stays: %v", err)
	}
}
