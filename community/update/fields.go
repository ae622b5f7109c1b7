package update

import "encoding/binary"

// Field is one of the four of an UPDATE that have prefixes.
type Field struct {
	Reach
	Announced bool
	// MP is set for MP_REACH_NLRI, which has a next hop of its own.
	MP bool
}

// Fields takes an UPDATE apart, b without the header of the message (RFC 4271, section
// 4.3; RFC 4760): a has its attributes then, and the fields stand in the order in which
// they count, since what is withdrawn and announced at once is announced. Fields of
// families that are not read are empty. size is the octets of all attributes. It
// allocates nothing; the prefixes are not looked at.
func (a *Attributes) Fields(b []byte) (fields [4]Field, size int, err error) {
	c := Cursor{B: b}
	withdrawn := c.Bytes(int(c.U16()))
	attrs := c.Bytes(int(c.U16()))
	if c.Short {
		return fields, 0, ErrShort
	}
	if err := a.Split(attrs); err != nil {
		return fields, 0, err
	}
	reach, err := ParseReach(a[AttrReach], false)
	if err != nil {
		return fields, 0, err
	}
	unreach, err := ParseUnreach(a[AttrUnreach])
	if err != nil {
		return fields, 0, err
	}
	fields = [4]Field{
		{Reach: Reach{AFI: AFIv4, SAFI: SAFIUnicast, NLRI: withdrawn}},
		{Reach: unreach},
		{Reach: reach, Announced: true, MP: true},
		{Reach: Reach{AFI: AFIv4, SAFI: SAFIUnicast, NLRI: c.B}, Announced: true},
	}
	for i := range fields {
		if f := &fields[i]; !f.read() {
			f.NLRI = nil
		}
	}
	return fields, len(attrs), nil
}

// read reports whether prefixes of its family are.
func (r Reach) read() bool {
	return r.SAFI == SAFIUnicast && (r.AFI == AFIv4 || r.AFI == AFIv6)
}

// EndOfRIB returns the family whose table has been sent whole, if the UPDATE with
// these fields is an End-of-RIB: an empty one for IPv4, or one with an empty
// MP_UNREACH_NLRI alone (RFC 4724, section 2). attrs are its attributes.
func EndOfRIB(fields [4]Field, size int, a *Attributes) (afi uint16, ok bool) {
	for _, f := range fields {
		if len(f.NLRI) > 0 {
			return 0, false
		}
	}
	switch u := a[AttrUnreach]; {
	case size == 0:
		return AFIv4, true
	case len(u) == 3 && size <= 3+4 && fields[1].read():
		return binary.BigEndian.Uint16(u), true
	}
	return 0, false
}
