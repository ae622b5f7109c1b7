// Package pages reads Markdown so that tests can hold documentation to what it
// documents: tables, fenced blocks, links.
//
// In go the *.md files of a tree; out come their parts, each with its section
// and line, and one line of text for each thing that is wrong. It knows the
// little Markdown that this tree uses, not all there is, and renders nothing. A
// [Player] runs the commands that a page shows, and compares what they print.
// Only tests use it.
package pages
