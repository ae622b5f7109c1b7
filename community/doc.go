// Package community holds BGP community values: standard (RFC 1997), extended
// (RFC 4360, RFC 5668, RFC 7153) and large (RFC 8092), and patterns of them.
//
// In go text as people write it in a config ([Parse]) and octets as they stand
// in a path attribute ([FromWire]); out come [Value], which can be compared with
// == and used as a map key, and [Set], which is sorted and without repeats. A
// [Pattern] is many values as a document writes them, such as 57629:1xx.
//
// The text forms are
//
//	57629:101             standard: ASN:number, both 0..65535
//	57629:1:101           large: ASN:number:number, each 0..4294967295
//	rt:57629:101          extended: route target; the number is 0..4294967295
//	rt:4200000000:101     the same with a 4-octet ASN; the number is 0..65535
//	rt:192.0.2.1:101      the same with an IPv4 address; the number is 0..65535
//	ro:57629:101          extended: route origin, in the same three forms; soo: is read too
//	0x030b000000000064    extended: any other, as 16 hexadecimal digits
//	0x00:0x08:57629:101   extended, read only: type, sub-type, ASN, number, see [Value.Typed]
//	no-export             standard: a well-known name, see [Value.Name]
//
// The package never truncates a number to make it fit, never guesses at what a
// text might have meant, and knows nothing of what a value means to a network
// beyond the well-known names. It does no I/O and imports nothing of catchment.
package community
