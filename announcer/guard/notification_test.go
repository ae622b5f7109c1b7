package guard

import (
	"bytes"
	"strings"
	"testing"
)

func TestNotificationGoldenBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		n    notification
		want string
	}{
		"collision": {notification{code: 6, subcode: 7}, ffs + "0015 03 06 07"},
		"shutdown":  {Cease{Text: "maintenance"}.notification(ceaseShutdown), ffs + "0021 03 06 02 0b 6d61696e74656e616e6365"},
		"reset":     {Cease{Text: "é"}.notification(ceaseReset), ffs + "0018 03 06 04 02 c3a9"},
		"no text":   {Cease{}.notification(ceaseShutdown), ffs + "0015 03 06 02"},
		"a subcode that has no text": {
			Cease{Subcode: 6, Text: "x"}.notification(ceaseShutdown), ffs + "0015 03 06 06",
		},
		"bad length": {notification{code: 1, subcode: 2, data: []byte{0, 18}}, ffs + "0017 03 01 02 0012"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := tt.n.append(nil), unhex(t, tt.want); !bytes.Equal(got, want) {
				t.Errorf("\n got %x\nwant %x", got, want)
			}
		})
	}
}

func TestKeepaliveAndRefreshGoldenBytes(t *testing.T) {
	for want, got := range map[string][]byte{
		ffs + "0013 04":            keepalive,
		ffs + "0017 05 0001 00 01": refreshes[IPv4],
		ffs + "0017 05 0002 00 01": refreshes[IPv6],
	} {
		if !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("got %x, want %s", got, want)
		}
	}
}

func TestLongShutdownTextIsCutAtARune(t *testing.T) {
	n := Cease{Text: strings.Repeat("é", 200)}.notification(ceaseShutdown)
	if len(n.data) != 1+254 || n.data[0] != 254 {
		t.Errorf("%d bytes with length byte %d, want 254", len(n.data)-1, n.data[0])
	}
	if text, ok := shutdownText(n.data); !ok || text != strings.Repeat("é", 127) {
		t.Errorf("text %q, %t", text, ok)
	}
}

func TestLongDataIsCut(t *testing.T) {
	b := notification{code: codeOpen, data: make([]byte, 5000)}.append(nil)
	if _, length, f := checkHeader(b[:headerLen]); f != nil || length != maxMessage || len(b) != maxMessage {
		t.Errorf("length %d of %d bytes, %v", length, len(b), f)
	}
}

func TestNotificationText(t *testing.T) {
	for want, n := range map[string]notification{
		`Cease/Administrative Shutdown: "back at 5"`:                     {6, 2, []byte("\x09back at 5")},
		`Cease/Administrative Reset`:                                     {6, 4, nil},
		`Cease/Administrative Shutdown`:                                  {6, 2, []byte{0}},
		`Cease/Administrative Shutdown: "a\n\x1b[31mb"`:                  {6, 2, []byte("\x08a\n\x1b[31mb")},
		`Cease/Administrative Shutdown: "\u202e"`:                        {6, 2, []byte("\x03\u202e")},
		`Cease/Peer De-configured`:                                       {6, 3, nil},
		`Cease/subcode 77`:                                               {6, 77, nil},
		`OPEN Message Error/Unacceptable Hold Time`:                      {2, 6, nil},
		`OPEN Message Error/Bad Peer AS (data 0102)`:                     {2, 2, []byte{1, 2}},
		`Hold Timer Expired`:                                             {4, 0, nil},
		`error 99/subcode 1`:                                             {99, 1, nil},
		`Cease/Administrative Reset (with a malformed text)`:             {6, 4, []byte{9, 'x'}},
		`Cease/Administrative Shutdown (with a malformed text)`:          {6, 2, []byte{2, 0xff, 0xfe}},
		`Cease/Maximum Number of Prefixes Reached (data 00010100000064)`: {6, 1, []byte{0, 1, 1, 0, 0, 0, 100}},
	} {
		if got := n.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEveryNotificationHasAName(t *testing.T) {
	for code := range 256 {
		for subcode := range 256 {
			if s := (notification{code: byte(code), subcode: byte(subcode)}).String(); s == "" || strings.HasSuffix(s, "/") {
				t.Fatalf("%d/%d is %q", code, subcode, s)
			}
		}
	}
}

func TestHeaderChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		header  string
		subcode byte // 0: accepted
		data    string
	}{
		"KEEPALIVE":                {ffs + "0013 04", 0, ""},
		"longest UPDATE":           {ffs + "1000 02", 0, ""},
		"a bit missing":            {"fffffffffffffffffffffffffffffffe 0013 04", 1, ""},
		"length 0":                 {ffs + "0000 04", 2, "0000"},
		"length 18":                {ffs + "0012 04", 2, "0012"},
		"length 4097":              {ffs + "1001 02", 2, "1001"},
		"length 65535":             {ffs + "ffff 02", 2, "ffff"},
		"KEEPALIVE of 20":          {ffs + "0014 04", 2, "0014"},
		"OPEN of 28":               {ffs + "001c 01", 2, "001c"},
		"UPDATE of 22":             {ffs + "0016 02", 2, "0016"},
		"NOTIFICATION of 20":       {ffs + "0014 03", 2, "0014"},
		"ROUTE-REFRESH of 22":      {ffs + "0016 05", 2, "0016"},
		"type 0":                   {ffs + "0013 00", 3, "00"},
		"type 6":                   {ffs + "0013 06", 3, "06"},
		"type 255":                 {ffs + "0013 ff", 3, "ff"},
		"unknown type, bad length": {ffs + "0012 06", 2, "0012"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, f := checkHeader(unhex(t, tt.header))
			if tt.subcode == 0 {
				if f != nil {
					t.Errorf("refused: %s", f.reason)
				}
				return
			}
			if f == nil {
				t.Fatal("accepted")
			}
			if n := f.notify; n.code != codeHeader || n.subcode != tt.subcode || !bytes.Equal(n.data, unhex(t, tt.data)) {
				t.Errorf("%s (data %x)", n, n.data)
			}
		})
	}
}
