package output

import "fmt"

// Format is how an answer is printed. It is a flag value: see pflag.Value.
type Format string

// The formats of -o.
const (
	Table Format = "table" // for people; its layout may change
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Formats are the formats there are.
func Formats() []string { return []string{string(Table), string(JSON), string(YAML)} }

// String returns the name of the format.
func (f *Format) String() string { return string(*f) }

// Type names the kind of value in a flag's help.
func (f *Format) Type() string { return "table|json|yaml" }

// Set takes a format by its name.
func (f *Format) Set(name string) error {
	switch v := Format(name); v {
	case Table, JSON, YAML:
		*f = v
		return nil
	}
	return fmt.Errorf("write table, json or yaml")
}

// Simple is how an answer that has no YAML is printed: Table or JSON. It is a flag value: see pflag.Value.
type Simple string

// String returns the name of the format.
func (f *Simple) String() string { return string(*f) }

// Type names the kind of value in a flag's help.
func (f *Simple) Type() string { return "table|json" }

// Set takes a format by its name.
func (f *Simple) Set(name string) error {
	if name != string(Table) && name != string(JSON) {
		return fmt.Errorf("write table or json")
	}
	*f = Simple(name)
	return nil
}
