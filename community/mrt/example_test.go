package mrt_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/mrt"
)

func ExampleOrigin() {
	// One route of TABLE_DUMP, to 203.0.113.0/24 with the community 64500:101, and then
	// the first octets of another.
	dump, _ := hex.DecodeString("00000002000c000100000031" + "00000001cb0071001801" + "00000001c0000202fbf0001b" +
		"400101004002060202fbf0fbf4" + "400304c0000202" + "c00804fbf40065" + "00000002000c")
	report := mrt.Origin(mrt.NewReader(bytes.NewReader(dump)), netip.MustParsePrefix("203.0.113.0/24"),
		func(v community.Value) (string, bool) { return "Moscow", v == community.NewStandard(64500, 101) })
	for _, p := range report.Peers {
		fmt.Printf("AS %d at %v, path %v: %s\n", p.ASN, p.Address, p.Path, p.Node)
	}
	fmt.Println(report.Totals)
	for _, p := range report.Problems {
		fmt.Println(p)
	}
	// Output:
	// AS 64496 at 192.0.2.2, path 64496 64500: Moscow
	// map[Moscow:1]
	// offset 61: the data ends at octet 6 of the 12 of a record's header
}
