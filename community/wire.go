package community

import "fmt"

// AppendWire appends the octets of v as they stand in its path attribute: 4, 8
// or 12 of them by its kind. The zero Value appends nothing.
func (v Value) AppendWire(b []byte) []byte {
	return append(b, v.wire[:v.kind.Size()]...)
}

// FromWire returns the community of kind k whose octets are b. It is an error if
// b is not exactly the k.Size() octets of one value.
func FromWire(k Kind, b []byte) (Value, error) {
	if k.Size() == 0 {
		return Value{}, fmt.Errorf("community kind %d: want %d, %d or %d (standard, extended, large)", uint8(k), Standard, Extended, Large)
	}
	if len(b) != k.Size() {
		return Value{}, fmt.Errorf("%s community: %d octets, want %d", k, len(b), k.Size())
	}
	v := Value{kind: k}
	copy(v.wire[:], b)
	return v, nil
}
