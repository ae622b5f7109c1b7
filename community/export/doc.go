// Package export writes what our communities mean for those who read it elsewhere: as
// remarks for the RIPE DB, as JSON of the YANG module ietf-bgp-communities, as NLNOG's
// text files, as a page in Markdown, and as our own JSON.
//
// In go registry entries; out comes text, and a problem for each entry that a form cannot
// carry, with the reason. Such an entry is left out: the package never writes less than an
// entry says without telling, never cuts a word, and never lets the RIPE DB make a letter
// a question mark. Among the communities of a kind the specific ones stand before the
// general ones, as readers take the first that matches.
//
// It does no I/O but writing to the writer that it is given.
package export
