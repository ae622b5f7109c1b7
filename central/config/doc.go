// Package config loads the centre's YAML file.
//
// In goes the text of the file. Out comes one Config with every default filled in,
// or Errors: everything that is wrong, at once, each with its line, its path and
// what to write instead.
//
// The way: yaml.v3 gives a tree with lines; the tree is compared with the shape of
// the file (walk.go); what passes is decoded by viper (decode.go), completed and
// checked (check.go).
//
// The package never changes anything and reads no environment. No input makes it
// panic.
package config
