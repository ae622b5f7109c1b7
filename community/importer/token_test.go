package importer

import (
	"strings"
	"testing"
)

func TestTokensOfALine(t *testing.T) {
	for _, tt := range []struct {
		line string
		want string
	}{
		{"64999:1234 learned", "64999:1234"},
		{"(64999:1), (4200000001:1:0): to all", "64999:1 4200000001:1:0"},
		{"(0:<peer ASN>) (0:<999)", "0:<peer ASN> 0:<999"},
		{"65001:1xx 65001:PXX 6501n:<ASN> 65001:$asn 65001:nnn", "65001:1xx 65001:PXX 6501n:<ASN> 65001:$asn 65001:nnn"},
		{"65001:[0-9]+ 65001:2[1-4]0 65001:1(0|1|2)5 65001:60* 65001:.* 65001:{1,2, 3-4}", "65001:[0-9]+ 65001:2[1-4]0 65001:1(0|1|2)5 65001:60* 65001:.* 65001:{1,2,3-4}"},
		{"65001:10-19 65001:10..19 65001:5 - 65001:7 x", "65001:10-19 65001:10..19 65001:5-7"},
		{"65001:[PEERASN] 65001:1:<AS>: large", "65001:[PEERASN] 65001:1:<AS>"},
		{"rt, 65009, 65100 | rt:1:2 | rt 3:4 | soo:5:6 | RT:7:8", "rt:65009:65100 rt:1:2 rt:3:4 ro:5:6 rt:7:8"},
		{"(64999, 1, *) (64999, 1*02, asn) (rt, 5, 6)", "64999:1:* 64999:1*02:asn rt:5:6"},
		{"large:64999:1:2 Blackhole:64999:666", "64999:1:2 64999:666"},
		{"0:peerasn or 64999:0:peerasn: do not", "0:peerasn 64999:0:peerasn"},
		{"64999:70000 70000:1", "64999:70000! 70000:1!"},
		{"«64999:5» — «64999:6»", "64999:5 64999:6"},
		{"64999:1/64999:2", "64999:1 64999:2"},
		{"64999:100:Learned from", "64999:100"},
		{"2001:db8::1 [2001:db8::1]:179 00:11:22:33:44:55 fe80::1%eth0", ""},
		{"http://lg.example:8080/ lg.example:80 10.0.0.1:179 a@b:1", ""},
		{"AS64999:AS-FOO RS64999:RS-X AS-ROGERS:AS-CUSTOMERS v4:100 MTU:9000 RFC 1997:2.1", ""},
		{"2023-01-06T13:57:20Z 10:1.5 (1,2,4) (0,1,2)", ""},
		{"<64999:7> AS64999:8 AS64999:AS-X", "64999:7 64999:8"},
		{"x (x=1,2,4,6) or (x=9).", ""},
	} {
		var got []string
		for _, tok := range newLexicon().scan(tt.line) {
			text := tok.pattern.String()
			if tok.err != nil {
				text = tok.text + "!"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.line, s, tt.want)
		}
	}
}
