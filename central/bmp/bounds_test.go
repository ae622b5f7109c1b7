package bmp

import (
	"encoding/binary"
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
