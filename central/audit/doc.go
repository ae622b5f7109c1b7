// Package audit keeps the centre's audit log: one record for each write and
// each refusal, append-only, in a chain of SHA-256 hashes over a [store.Store].
//
// In go an [Entry] and the change that it tells of; both are committed in one
// transaction, so that there is no change without its record and no record of
// a change that did not happen. Out come records, newest first, and a
// verification that names the first record which is not what was written.
//
// # The chain
//
// The hash of a record is the SHA-256 of these bytes, integers big-endian:
//
//	"catchment audit 1\n"
//	32 bytes   hash of the record before; zeros before the first
//	8 bytes    number, from 1
//	8 bytes    time in nanoseconds since 1970, UTC
//	ten texts, each as 4 bytes with its length and its UTF-8 bytes:
//	           who, role, method, target, reason, ticket, outcome, detail, before, after
//
// Every text has its length, so no two records have the same bytes. Records are
// at audit/record/NUMBER with 20 digits; audit/head has the number and hash of
// the last one and is a condition of each transaction: two writers never make
// the same number.
//
// Any change of records that leaves the rest as it was is found: another text,
// a removal (the last ones too, by the head), an insertion, another order. Who
// can write to the store's disk can compute a whole new chain; against that a
// hash that was noted elsewhere, an [Anchor], is checked. The log writes each
// new hash to slog for that purpose, where the caller gives a logger.
//
// # Pruning
//
// [Log.Prune] removes old records, oldest first. It writes a record of that before, with
// the number and the hash of the last record that goes (method PruneAudit), and keeps
// both at audit/origin, where the chain begins from then on. A log whose first record is
// not the first ever, and which has no record that tells so, is broken. Records that
// were exported before are checked by [CheckRecords].
//
// Secrets never get in: values of JSON members whose names tell of one are
// replaced before anything is hashed (see [Redact]). What callers write into
// reason and detail is theirs to keep clean.
package audit
