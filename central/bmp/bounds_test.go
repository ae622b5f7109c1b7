package bmp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPeersAreBounded(t *testing.T) {
	table := fed(t, Post, split(t, initiation)...)
	message := split(t, up(openOurs, openTheirs))[0]
	address := headSize + 2 + 8 + 12
	for i := range MaxPeers + 1 {
		m := slices.Clone(message)
		binary.BigEndian.PutUint32(m[address:], uint32(i))
		_, err := feed(table, m, start)
		if i == MaxPeers != (err != nil && strings.Contains(err.Error(), "more than 10000 peers")) {
			t.Fatalf("peer %d: %v", i, err)
		}
	}
	if _, err := feed(table, message[:len(message):len(message)], start); err == nil {
		t.Error("another peer came in")
	}
	if s := table.state(start); s.Peers != MaxPeers {
		t.Errorf("%d peers", s.Peers)
	}
}

// TestRoutesAreBounded has one prefix with ever more path identifiers.
func TestRoutesAreBounded(t *testing.T) {
	const added = `02 1[ 45 1[ 0001 01 03 ] ]`
	table := fed(t, Post, split(t, initiation+up(` bgp[ 01 04 fde9 0009 c00002fe 1[ `+added+` ] ] `, ` bgp[ 01 04 e11d 0009 c0000201 1[ `+added+` ] ] `))...)
	const each = 1000
	message := split(t, routes("", origin+path+hop+tag, strings.Repeat("00000000"+nlri, each)))[0]
	ids := len(message) - each*8
	for i := range MaxRoutes/each + 1 {
		for j := range each {
			binary.BigEndian.PutUint32(message[ids+8*j:], uint32(i*each+j))
		}
		_, err := feed(table, message, start)
		if i == MaxRoutes/each != (err != nil && strings.Contains(err.Error(), "more than 100000 routes")) {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if n := len(table.state(start).Routes); n != MaxRoutes || table.routes != MaxRoutes {
		t.Errorf("%d routes, %d counted", n, table.routes)
	}
}

// TestPathsAndCommunitiesAreBounded has one prefix with ever more path identifiers, each with as many communities as a
// message can hold.
func TestPathsAndCommunitiesAreBounded(t *testing.T) {
	const added = `02 1[ 45 1[ 0001 01 03 ] ]`
	table := fed(t, Post, split(t, initiation+up(` bgp[ 01 04 fde9 0009 c00002fe 1[ `+added+` ] ] `, ` bgp[ 01 04 e11d 0009 c0000201 1[ `+added+` ] ] `))...)
	var many strings.Builder
	for i := range 16_000 {
		fmt.Fprintf(&many, "%08x", i)
	}
	announced := split(t, routes("", origin+path+hop+` d0 08 2[ `+many.String()+` ] `, "00000000"+nlri))[0]
	withdrawn := split(t, routes("00000000"+nlri, "", ""))[0]
	id := len(announced) - 8
	var err error
	kept := 0
	for ; err == nil && kept < 2000; kept++ {
		binary.BigEndian.PutUint32(announced[id:], uint32(kept))
		_, err = feed(table, announced, start)
	}
	if err == nil || !strings.Contains(err.Error(), "more than 64 MiB of paths and communities") || table.octets > MaxOctets {
		t.Fatalf("after %d routes: %v, %d octets", kept, err, table.octets)
	}
	binary.BigEndian.PutUint32(announced[id:], 0) // in the place of the same one
	if _, err := feed(table, announced, start); err != nil {
		t.Error(err)
	}
	if _, err := feed(table, withdrawn, start); err != nil || table.routes != kept-2 {
		t.Errorf("%v, %d routes", err, table.routes)
	}
	if _, err := feed(table, announced, start); err != nil {
		t.Errorf("there is place for it again: %v", err)
	}
	table.want = nil
	table.forget()
	if table.octets != 0 || table.routes != 0 {
		t.Errorf("%d octets, %d routes of nothing", table.octets, table.routes)
	}
}
