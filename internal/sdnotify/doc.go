// Package sdnotify tells systemd how this process fares, by the protocol of
// sd_notify(3).
//
// In go words about the process; out goes one datagram for each to the socket
// that NOTIFY_SOCKET names. Nothing is ever waited for: a systemd that does not
// read its socket (one that has crashed freezes, and its socket stays) costs the
// message and not the caller's time. That is why the usual library is not used:
// its write blocks once the queue is full, and the caller here is the loop that
// withdraws routes.
//
// The package starts no goroutine: if nobody calls Beat, nothing is sent.
package sdnotify
