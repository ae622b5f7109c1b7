package importer

import (
	"strings"
	"testing"
)

func TestValuesOfAnyPaste(t *testing.T) {
	for _, tt := range []struct{ name, paste, want string }{
		{"a list", "65001:100 65001:200\n65001:1:300, rt:65001:7\n", "1 65001:100, 1 65001:200, 2 65001:1:300, 2 rt:65001:7"},
		{"one a line", "65001:100\n\n65001:2\n  no-export\n", "1 65001:100, 3 65001:2, 4 65535:65281"},
		{"FRR text", `BGP routing table entry for 192.0.2.0/24, version 7
Paths: (1 available, best #1, table default)
  Advertised to non peer-group peers:
  10.0.0.2
  65010 65020
    10.0.0.2 from 10.0.0.2 (10.0.0.9)
      Origin IGP, metric 0, valid, external, best (First path received)
      Community: 65010:20 65010:3000 no-export graceful-shutdown local-AS
      Extended Community: RT:65010:5 SoO:65010:6
      Large Community: 65010:1:2 4200000001:3:4
      Last update: Mon Nov 30 14:18:16 2026
`, "8 65010:20, 8 65010:3000, 8 65535:65281, 8 65535:0, 8 65535:65283, 9 rt:65010:5, 9 ro:65010:6, 10 65010:1:2, 10 4200000001:3:4"},
		{"IOS, folded", "      Community: 65010:20 65010:30\n        65010:40 10:30\n      rx pathid: 0, tx pathid: 0x0\n      Updated on Nov 3 2026 10:11:12 UTC\n", "1 65010:20, 1 65010:30, 2 65010:40, 2 10:30"},
		{"BIRD", `192.0.2.0/24         unicast [up1 12:34:56.789] * (100) [AS65020i]
	via 10.0.0.2 on eth0
	Type: BGP univ
	BGP.origin: IGP
	BGP.as_path: 65010 65020
	BGP.next_hop: 2001:db8::2 fe80::1
	BGP.local_pref: 100
	BGP.community: (65010,20) (65535,65281)
	BGP.ext_community: (rt, 65010, 5) (ro, 65010, 6) (generic, 0x030b0000, 0x64)
	BGP.large_community: (65010, 1, 2) (4200000001, 3, 4)
`, "8 65010:20, 8 65535:65281, 9 rt:65010:5, 9 ro:65010:6, 9 0x030b000000000064, 10 65010:1:2, 10 4200000001:3:4"},
		{"JunOS", "     Communities: 65010:20 large:65010:1:2 target:65010:5 origin:65010:6\n", "1 65010:20, 1 65010:1:2, 1 rt:65010:5, 1 ro:65010:6"},
		{"FRR JSON", `{
 "paths":[{"aspath":{"string":"65010 65020"},"peer":{"peerId":"2001:db8::1"},
  "community":{"string":"65010:20 noExport",
   "list":["65010:20","noExport"]},
  "extendedCommunity":{"string":"RT:65010:5"},
  "largeCommunity":{"string":"65010:1:2","list":["65010:1:2"]},
  "lastUpdate":{"epoch":1796048296,"string":"Mon Nov 30 14:18:16 2026"}}]}
`, "3 65010:20, 3 65535:65281, 5 rt:65010:5, 6 65010:1:2"},
		{"JSON of numbers", `{"bgp":{"communities":[[65010,20],[0,174]],"large_communities":[[65010,1,2]],"ext_communities":[["rt","65010","5"]],"med":1}}`,
			"1 65010:20, 1 0:174, 1 65010:1:2, 1 rt:65010:5"},
		{"a sentence", "at 12:30:01 route 192.0.2.0/24 from 192.0.2.1:179 had 65010:20 and 65010:1:2, community no-export.", "1 65010:20, 1 65010:1:2, 1 65535:65281"},
		{"decoys", `NOC hours: 24:00, ratio 1:1, window 03:00-05:00, 10:30
MAC 00:11:22:33:44:55 aa:bb:cc:dd:ee:ff
IPv6 2001:db8::1 [2001:db8::1]:179 2001:db8:0:1:0:0:0:1 fe80::1%eth0
port 80:443 localhost:8080 http://lg.example:8080/ RD 65001:100 Route Distinguisher: 65001:5
updated 2023-01-06T13:57:20Z AS65001:AS-CUSTOMERS
10:30
`, ""},
	} {
		found, problems := Values(strings.NewReader(tt.paste))
		var got []string
		for _, f := range found {
			got = append(got, string(rune('0'+f.Line%10))+" "+f.Value.String())
			if f.Line == 10 {
				got[len(got)-1] = "10 " + f.Value.String()
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.name, s, tt.want)
		}
		if len(problems) > 0 {
			t.Errorf("%s: problems %v", tt.name, problems)
		}
	}
}

func TestWhatIsNoCommunityAmongCommunitiesIsAProblem(t *testing.T) {
	for paste, want := range map[string]string{
		"Community: 65010:70000 65010:1\n":             "65010:70000",
		"Extended Community: RT:65010:5 LB:65010:1250": "LB:65010:1250",
		`{"community":{"list":["65010:x"]}}`:           "65010:x",
		`{"community":["65010:1"`:                      "JSON",
		"BGP.community: (65010,1) (70000,2)\n":         "(70000,2)",
	} {
		_, problems := Values(strings.NewReader(paste))
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) || problems[0].Line != 1 {
			t.Errorf("%s: problems %v, want one of line 1 that names %s", paste, problems, want)
		}
	}
}
