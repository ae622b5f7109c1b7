package output

import (
	"bytes"
	"testing"
)

func TestAValueIsTheSameTreeInBothFormats(t *testing.T) {
	v := struct {
		Zulu  string   `json:"zulu"`
		Alpha []any    `json:"alpha"`
		None  []string `json:"none"`
		Off   *int     `json:"off"`
	}{"a < b", []any{1, 0.25, true, "yes", map[string]int{"n": 4200000000}}, []string{}, nil}
	for f, want := range map[Format]string{
		JSON: "{\n  \"zulu\": \"a < b\",\n  \"alpha\": [\n    1,\n    0.25,\n    true,\n    \"yes\",\n    {\n      \"n\": 4200000000\n    }\n  ],\n  \"none\": [],\n  \"off\": null\n}\n",
		YAML: "zulu: a < b\nalpha:\n  - 1\n  - 0.25\n  - true\n  - \"yes\"\n  - \"n\": 4200000000\nnone: []\n\"off\": null\n",
	} {
		var out bytes.Buffer
		if err := WriteValue(&out, f, v); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", f, err, out.String(), want)
		}
	}
}

func TestAValueThatJSONCannotCarryIsAnError(t *testing.T) {
	var out bytes.Buffer
	if err := WriteValue(&out, YAML, func() {}); err == nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}
