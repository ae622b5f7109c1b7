// Package importer reads what communities mean from the texts in which networks
// document them.
//
// In go RPSL objects (files, a whole database dump, a whois server, the RIPE DB's REST
// answers), pages in Markdown, HTML or plain text, and NLNOG's files; out come registry
// entries, the communities that import and export lines use, and a problem with line and
// reason for what holds a community and was not understood ([Read], [ReadDump], [Whois],
// [REST]). From any paste come the values in it ([Values]).
//
// The way of a text: lines, with folds and charset undone; tokens, which are the values
// and patterns with their places in the line; layouts, each of which knows one way to put
// a meaning beside a value; and semantics, which finds kind, action, targets and legends
// in the words. What was inferred has less confidence than what a line says.
//
// The package never guesses a value, never takes an example or a mention for a
// definition, and never drops a line with a community silently. It reads a bounded
// amount: a longer line or document is a problem or an error.
package importer
