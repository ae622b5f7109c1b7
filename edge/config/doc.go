// Package config loads an edge node's YAML file.
//
// In goes the text of the file, with the secrets that it names. Out comes one
// Config with every default filled in, in which all names and references are
// known to be good; or Errors: everything that is wrong, at once, each with its
// line, its path and what to write instead. Warnings are Problems that do not
// keep the file from being used.
//
// The way: yaml.v3 gives a tree with lines (node.go); the tree is compared with
// the raw structs (walk.go, raw.go) and every scalar with the rule of its type
// (rule.go); what passes is decoded by viper (decode.go), completed and checked
// (validate_*.go). Print is the way back (print.go).
//
// The package never changes anything, never reads the environment except for
// ${VAR} in passwords, and never repeats a password in a message. No input makes
// it panic.
package config
