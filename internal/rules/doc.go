// Package rules holds the rules of this source tree, and its tests hold the tree
// to them: which package may import what, what decisions must not touch, what may
// end the process, and that every exported name is documented. CONTRIBUTING.md
// tells the rules in words.
//
// In go the Go files of a tree ([Read]) or of a test; out comes one line for each
// breach, which names file, place and rule. The package changes nothing, runs
// nothing, and no other package uses it.
package rules
