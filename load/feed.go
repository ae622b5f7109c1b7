package load

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"
)

// kilobit is the unit of a feed's figures.
const kilobit = 1000

// feedDocument is what a Feed holds.
type feedDocument struct {
	Timestamp  *string  `json:"timestamp"`
	Total      *float64 `json:"total_bandwidth"`
	Rx         *float64 `json:"rx_bandwidth"`
	Tx         *float64 `json:"tx_bandwidth"`
	TxMisspelt *float64 `json:"tx_badwidth"`
}

// ParseFeed reads the document of a Feed: its load and when that was true. The
// error is a *Refusal.
func ParseFeed(document []byte, d Direction) (Sample, error) {
	var f feedDocument
	if err := json.Unmarshal(document, &f); err != nil {
		return Sample{}, refuse(Malformed, "the feed is not what it should be, one JSON object with numbers in kbit/s: %v", err)
	}
	if f.Timestamp == nil {
		return Sample{}, refuse(Malformed, "the feed has no timestamp: the age of its figures is unknown")
	}
	at, err := parseTime(*f.Timestamp)
	if err != nil {
		return Sample{}, refuse(Malformed, "the feed's timestamp %.40q is not RFC 3339, such as 2026-11-30T10:00:00Z", *f.Timestamp)
	}
	load := f.load(d)
	if load == nil {
		return Sample{}, refuse(Absent, "the feed has no %s", missing[d])
	}
	return Sample{Load: *load * kilobit, At: at}, nil
}

var missing = map[Direction]string{
	Busier: "total_bandwidth, rx_bandwidth or tx_bandwidth", Transmit: "tx_bandwidth", Receive: "rx_bandwidth",
}

func (f feedDocument) load(d Direction) *float64 {
	tx := f.Tx
	if tx == nil {
		tx = f.TxMisspelt
	}
	switch {
	case d == Transmit:
		return tx
	case d == Receive:
		return f.Rx
	case f.Total != nil:
		return f.Total
	case f.Rx == nil:
		return tx
	case tx == nil:
		return f.Rx
	}
	// A direction below zero is a lie that the other must not hide.
	if *f.Rx < 0 || *tx < 0 {
		lie := math.Min(*f.Rx, *tx)
		return &lie
	}
	greater := math.Max(*f.Rx, *tx)
	return &greater
}

// parseTime reads RFC 3339. "T" and "Z" may be small letters, and the T a space
// (section 5.6).
func parseTime(text string) (time.Time, error) {
	text = strings.ToUpper(text)
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	return time.Parse(time.RFC3339, text)
}

// feedReader reads a Feed.
type feedReader struct {
	*getter
	url       string
	direction Direction
}

func newFeedReader(s *Source) *feedReader {
	return &feedReader{newGetter(s.Feed.Period), s.Feed.URL, s.Direction}
}

func (r *feedReader) read(ctx context.Context) (Sample, error) {
	body, err := r.get(ctx, r.url, func(status int) bool { return status == http.StatusOK })
	if err != nil {
		return Sample{}, err
	}
	return ParseFeed(body, r.direction)
}
