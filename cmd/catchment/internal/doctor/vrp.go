package doctor

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// VRP is a validated ROA payload (RFC 6811, section 2).
type VRP struct {
	ASN       uint32
	Prefix    netip.Prefix
	MaxLength int
}

// covers says so in the words of RFC 6811: the prefix of the VRP is equal to or less
// specific than p.
func (v VRP) covers(p netip.Prefix) bool {
	return v.Prefix.Bits() <= p.Bits() && v.Prefix.Contains(p.Addr())
}

// String is the VRP for people.
func (v VRP) String() string { return fmt.Sprintf("AS%d %s-%d", v.ASN, v.Prefix, v.MaxLength) }

// ReadVRPs reads what a validator exports: the JSON of rpki-client, Routinator and
// OctoRPKI ({"roas": [...]}), the answer of Routinator's /api/v1/validity, or CSV with
// ASN, prefix and length first. Only VRPs that cover one of ours are kept, so that the
// whole Internet's need no memory. Nothing at all in it is an error: it is no such file.
func ReadVRPs(r io.Reader, ours []netip.Prefix) ([]VRP, error) {
	s := &vrpSet{ours: ours, in: &patient{Reader: r, left: longestValue}}
	in := bufio.NewReader(s.in)
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, err
	case first == '{':
		err = s.json(in)
	default:
		err = s.csv(in)
	}
	if err != nil {
		return nil, err
	}
	if s.read == 0 && !s.answer {
		return nil, errors.New("it holds no VRP: give the JSON or CSV that a validator exports")
	}
	return s.kept, nil
}

// firstByte is the first one that is no blank; it stays to be read.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n\ufeff"), rune(b)) {
			return b, in.UnreadByte()
		}
	}
}

// longestValue bounds what may stand between two VRPs, in octets: all of it is held at
// once, several times over.
const longestValue = 32 << 20

// patient reads so much before it wants to see that something has come of it.
type patient struct {
	io.Reader
	left int
}

// Read reads.
func (p *patient) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, fmt.Errorf("there are %d MiB and more without a VRP: give the JSON or CSV that a validator exports", longestValue>>20)
	}
	n, err := p.Reader.Read(b)
	p.left -= n
	return n, err
}

type vrpSet struct {
	in     *patient
	ours   []netip.Prefix
	kept   []VRP
	read   int
	answer bool // to a question about single routes, which may know none
}

func (s *vrpSet) add(asn, prefix, length string) error {
	v := VRP{}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(asn)), "AS"), 10, 32)
	if err != nil {
		return fmt.Errorf("VRP %d: %q is no AS number", s.read+1, asn)
	}
	v.ASN = uint32(n)
	if v.Prefix, err = netip.ParsePrefix(strings.TrimSpace(prefix)); err != nil {
		return fmt.Errorf("VRP %d: %q is no prefix", s.read+1, prefix)
	}
	v.Prefix = v.Prefix.Masked()
	v.MaxLength = v.Prefix.Bits() // where it says none (RFC 9582)
	if length = strings.TrimSpace(length); length != "" {
		if v.MaxLength, err = strconv.Atoi(length); err != nil || v.MaxLength < v.Prefix.Bits() || v.MaxLength > v.Prefix.Addr().BitLen() {
			return fmt.Errorf("VRP %d: %q is no length for %s", s.read+1, length, v.Prefix)
		}
	}
	s.read++
	s.in.left = longestValue
	for _, p := range s.ours {
		if v.covers(p) {
			s.kept = append(s.kept, v)
			break
		}
	}
	return nil
}

// csv skips a line of titles.
func (s *vrpSet) csv(in io.Reader) error {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord, r.Comment = -1, true, '#'
	for line := 0; ; line++ {
		f, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if len(f) > 0 && strings.Contains(f[0], "://") { // RIPE's validator: URI, ASN, prefix, length ...
			f = f[1:]
		}
		if line == 0 && len(f) > 0 && !strings.ContainsAny(f[0], "0123456789") {
			continue
		}
		if len(f) < 3 {
			return fmt.Errorf("line %d has %d fields, not AS number, prefix and length", line+1, len(f))
		}
		if err := s.add(f[0], f[1], f[2]); err != nil {
			return err
		}
	}
}

// jsonVRP is one VRP in the documents of all validators.
type jsonVRP struct {
	ASN        any    `json:"asn"` // "AS1" or 1
	Prefix     string `json:"prefix"`
	MaxLength  any    `json:"maxLength"`
	MaxLength2 any    `json:"max_length"` // in the answer of /api/v1/validity
}

func (j jsonVRP) length() any {
	if j.MaxLength == nil {
		return j.MaxLength2
	}
	return j.MaxLength
}

// json reads the members of the outer object one by one, since the list of VRPs is too
// long to be held.
func (s *vrpSet) json(in io.Reader) error {
	d := json.NewDecoder(in)
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		switch name {
		case "roas":
			err = s.list(d)
		case "validated_route":
			err = s.validity(d)
		default:
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return err
		}
		s.in.left = longestValue
	}
	_, err := d.Token()
	return err
}

func (s *vrpSet) list(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return errors.New(`"roas" is no list`)
	}
	for d.More() {
		var v jsonVRP
		if err := d.Decode(&v); err != nil {
			return err
		}
		if err := s.addJSON(v); err != nil {
			return err
		}
	}
	_, err = d.Token()
	s.answer = true // an empty list is an export all the same
	return err
}

func (s *vrpSet) addJSON(v jsonVRP) error {
	length := ""
	if l := v.length(); l != nil {
		length = fmt.Sprint(l)
	}
	return s.add(fmt.Sprint(v.ASN), v.Prefix, length)
}

// validity takes the VRPs out of an answer; the state that it tells is worked out anew.
func (s *vrpSet) validity(d *json.Decoder) error {
	var route struct {
		Validity struct {
			VRPs struct {
				Matched         []jsonVRP `json:"matched"`
				UnmatchedAS     []jsonVRP `json:"unmatched_as"`
				UnmatchedLength []jsonVRP `json:"unmatched_length"`
			}
		} `json:"validity"`
	}
	if err := d.Decode(&route); err != nil {
		return err
	}
	s.answer = true
	v := route.Validity.VRPs
	for _, list := range [][]jsonVRP{v.Matched, v.UnmatchedAS, v.UnmatchedLength} {
		for _, one := range list {
			if err := s.addJSON(one); err != nil {
				return err
			}
		}
	}
	return nil
}
