// Package output writes what commands print: protobuf messages as JSON and
// YAML, and aligned tables for people.
//
// The JSON of a message has the field names of its .proto in the order of its
// .proto, and every key every time:
//
//   - numbers are JSON numbers, 64-bit ones too;
//   - a google.protobuf.Timestamp is an RFC 3339 text in UTC, a
//     google.protobuf.Duration a number of seconds;
//   - an enum is its name, bytes are base64;
//   - a list is [] and a map {} when empty;
//   - a message or an optional field that is not set is null, and so is a value
//     that JSON cannot carry (NaN, an infinity, a timestamp out of range).
//
// YAML has the same tree. The package never reads, and never colours unless it
// is told to.
package output
