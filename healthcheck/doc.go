// Package healthcheck finds out whether a service answers.
//
// In goes a Check: what to probe, how often, and how many results in a row make
// a verdict. Out comes a Status after every probe, from Checker.Run. Require says
// how the verdicts of a service's checks combine.
//
// The start state is down: nothing is healthy before it has shown so. Hung
// equals failed: a probe that has not passed when its Timeout ends has failed.
//
// The package decides nothing about announcements, limits no flapping (policy
// does, with its ledger), writes no logs and reads no configuration. It imports
// nothing of ours.
//
// # Probes
//
// A probe is a function, and the kinds are one map literal (kinds). Each kind's
// type says what it asks.
//
//   - http makes one HTTP/1.1 request on a connection of its own: no redirect is
//     followed, no proxy asked, no connection reused;
//   - tcp connects and closes;
//   - dns asks a name server one question;
//   - icmp sends echo requests;
//   - grpc asks by the gRPC health protocol, on a connection of its own;
//   - exec runs a program, and kills its process group when the Timeout ends;
//   - unit asks systemd whether a unit is active;
//   - file looks whether a file exists.
//
// Where a name has several addresses they are tried in turn within the one
// Timeout. A probe leaves no goroutine, process or descriptor behind, with one
// exception: what the kernel does not let go of, a program that SIGKILL does not
// end or a look at a file on a dead server, is waited for in the background. The
// check fails until it is back, and no second one is begun.
//
// # Pace
//
// Checks that share a Pace probe at the same moments where their jitter leaves
// the choice: where another check has chosen a moment at which the next probe may
// begin, it does; only where nobody has, one is drawn. So checks of equal interval
// come together, at most 16 at one moment: within some hundred intervals, whenever
// each began. What a watch hastens is not held up.
//
// # Watch
//
// A watched check, of kind http or tcp, also keeps one TCP connection open to the service and sends
// nothing on it but TCP keepalives, for https no handshake either. Its end is no verdict, since servers close
// idle connections; it starts a probe at once. Refused probes then follow one
// another at 10 ms until Fall of them make the check down. RestartGrace holds
// that verdict: a service which is back before the grace ends was never down.
// The grace runs from the connection's end, or from the first refused probe if
// that was noticed first. "Refused" is every way in which a dead process answers:
// refused, reset, no route, or closed before the answer was complete.
//
// The connection is open only while the check is up. It is opened again after a
// probe has passed: 10 ms later when it had lived for 5 s or more, otherwise
// after a pause that doubles up to 1 s. A server that closes every connection at
// once therefore costs 8 connections and 8 more probes in the first 1.3 s, and then
// one of each per second. One that talks all the time has its connection closed and
// opened again, by the same rule, after each 64 KiB. While the connection is not
// open, deaths are noticed by the ordinary polls.
//
// What a watch does not see: a process that hangs (the polls do); the death of
// other workers than the one that holds the connection; a listener with
// TCP_DEFER_ACCEPT, whose kernel forgets silent connections without a word; and
// a remote machine that loses power, until TCP keepalive gives up.
package healthcheck
