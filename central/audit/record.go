package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// What came of a call.
const (
	Done    = "done"
	Refused = "refused" // by a rule of the fleet
	Denied  = "denied"  // the caller may not
)

const (
	// maxText is how many bytes a text may have; the rest is cut off.
	maxText = 4 << 10
	// maxState is the same for before and after; of longer ones the hash is kept.
	maxState = 16 << 10
)

// Entry is what a caller knows of a call. All but Who, Method and Outcome may be empty.
type Entry struct {
	Who     string `json:"who"` // the caller's name: spiffe://DOMAIN/noc/NAME
	Role    string `json:"role,omitempty"`
	Method  string `json:"method"`
	Target  string `json:"target,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Ticket  string `json:"ticket,omitempty"`
	Outcome string `json:"outcome"` // Done, Refused or Denied
	Detail  string `json:"detail,omitempty"`
	Before  string `json:"before,omitempty"` // JSON
	After   string `json:"after,omitempty"`  // JSON
}

// Record is an entry in its place in the chain.
type Record struct {
	Number uint64    `json:"number"` // from 1
	At     time.Time `json:"at"`     // UTC
	Entry
	Hash string `json:"hash"` // hexadecimal
}

// ErrInvalid is for an entry without a caller, a method or an outcome.
var ErrInvalid = errors.New("invalid")

// clean returns the entry as it is kept: valid text of bounded length, without secrets.
func (e Entry) clean() (Entry, error) {
	switch {
	case e.Who == "" || e.Method == "":
		return e, fmt.Errorf("audit entry without a caller or a method: %w", ErrInvalid)
	case !slices.Contains([]string{Done, Refused, Denied}, e.Outcome):
		return e, fmt.Errorf("audit entry of %s: outcome %q is none of %s, %s, %s: %w", e.Method, e.Outcome, Done, Refused, Denied, ErrInvalid)
	}
	for _, text := range []*string{&e.Who, &e.Role, &e.Method, &e.Target, &e.Reason, &e.Ticket, &e.Detail} {
		*text = cut(strings.ToValidUTF8(*text, "�"))
	}
	e.Before, e.After = state(e.Before), state(e.After)
	return e, nil
}

// cut shortens a text that is too long, and shows it.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// state returns before or after as it is kept.
func state(text string) string {
	text = Redact(text)
	if len(text) <= maxState {
		return text
	}
	return fmt.Sprintf(`{"bytes":%d,"sha256":"%x"}`, len(text), sha256.Sum256([]byte(text)))
}

// sum returns the hash of the record after the one with hash before.
func (r Record) sum(before [sha256.Size]byte) [sha256.Size]byte {
	b := []byte("catchment audit 1\n")
	b = append(b, before[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Number)
	b = binary.BigEndian.AppendUint64(b, uint64(r.At.UnixNano()))
	for _, text := range []string{r.Who, r.Role, r.Method, r.Target, r.Reason, r.Ticket, r.Outcome, r.Detail, r.Before, r.After} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return sha256.Sum256(b)
}

// parseHash returns the bytes of a record's hash.
func parseHash(text string) ([sha256.Size]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != sha256.Size || text != strings.ToLower(text) {
		return [sha256.Size]byte{}, fmt.Errorf("%.80q is not a hash", text)
	}
	return [sha256.Size]byte(b), nil
}
