// Package store keeps what the centre knows: JSON documents under
// slash-separated keys, changed in transactions and watched by revision.
//
// In go conditions and changes; out come documents, revisions and events.
// [Memory] keeps all in the process and is for tests and virtual time;
// [OpenEmbedded] runs one etcd member in the process, in one directory, and
// listens nowhere; [Dial] uses an etcd cluster. The last two differ only in how
// the client is made, and all three pass the same contract test.
//
// The package never interprets a document, never retries a transaction whose
// outcome is unknown, and never says that a change is made before it is on disk.
package store
