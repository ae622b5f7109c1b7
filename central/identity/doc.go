// Package identity says who calls the centre and what they may do.
//
// In go certificates, join tokens and calls; out come a Peer for each call that is
// allowed, and a status with words that help for each that is not. Its parts:
//
//   - Name and Role: the SPIFFE-form name in a certificate's URI SAN, and the role
//     that goes with it.
//   - Rules: who may call which method. A method without a rule is refused.
//   - Gate: the interceptors that apply the rules to every gRPC call, and the
//     handler that does so for JSON.
//   - Door and Web: what bounds the connections of callers who have not shown who they
//     are, on both ports.
//   - Files: certificates that are read again when they change.
//   - CA: what catchment pki does.
//   - Token: leave for one machine to join under one name.
//
// A role comes from the certificate: an edge's by its path /edge/NAME, a person's by
// the organizational unit (OU) viewer, operator or admin beside the path /noc/NAME;
// without one it is viewer. The centre's configuration can give another role to a
// name, or none, which takes effect at the next call.
//
// Each refusal is counted by its reason. It is reported, to be audited, as often as an
// Allowance lets it: who is refused does not fill a disk.
//
// The package never decides by an address, a header or anything else that a caller
// can write, and uses only the standard library's cryptography.
package identity
