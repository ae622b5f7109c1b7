package octets

import (
	"encoding/hex"
	"testing"
)

func TestGroupsHaveTheirLengths(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"01 0203":           "010203",
		"1[ 05 2[ 0607 ] ]": "05" + "05" + "0002" + "0607",
		"4[ ]":              "00000000",
		"bgp[ 04 ]":         "ffffffffffffffffffffffffffffffff" + "0013" + "04",
		"bmp[ 04 2[ 61 ] ]": "03" + "00000009" + "04" + "0001" + "61",
	} {
		if got := hex.EncodeToString(Of(t, text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
