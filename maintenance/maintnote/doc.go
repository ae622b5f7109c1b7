// Package maintnote reads what providers send about maintenance of their circuits:
// iCalendar (RFC 5545) with the X-MAINTNOTE properties of the NANOG BCOP "A machine
// parseable standard for the formatting of maintenance notifications", as a file or
// inside a mail.
//
// In go the octets of a file ([Import]) and the circuits that neighbours have; out
// come [Proposal]s, each with what the mail lacks, what could not be understood and
// the line where it stands, and errors that say the same of what is no MAINTNOTE at
// all. Newer mails replace older ones by [Proposal.Compare].
//
// It opens no window: a person does. It never guesses: what is missing, ambiguous or
// contradictory is named, and then there is no window to confirm. It reads no text
// made for people, neither HTML nor plain. It does no I/O but for time zones.
package maintnote
