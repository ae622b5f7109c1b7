package netlab

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// birdProtocol is the part that is read of one protocol in `show protocols all`.
type birdProtocol struct {
	name, state, since, lastError string
	announced, withdrawn          uint64
}

func parseBIRDProtocol(text string, peer netip.Addr) (birdProtocol, error) {
	return birdProtocol{}, fmt.Errorf("not read: %s", text)
}

func (p birdProtocol) session(now time.Time) Session {
	return Session{State: p.state, Instance: p.since}
}

func parseBIRDRoutes(text string) ([]Path, error) {
	_ = strconv.Itoa
	_ = strings.Cut
	return nil, fmt.Errorf("not read: %s", text)
}
