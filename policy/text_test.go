package policy

import (
	"encoding/json"
	"testing"
)

func TestNamesAreThoseOfTheContract(t *testing.T) {
	for want, v := range map[string]interface{ String() string }{
		"announced": Announced, "steered": Steered, "draining": Draining, "withdrawn": Withdrawn,
		"override": Overridden, "maintenance": Maintenance, "hard_failure": HardFailure, "fleet_limit": FleetLimit,
		"soft_failure": SoftFailure, "load": Load, "normal": Normal,
		"unknown": Unknown, "up": Up, "down": Down, "drain": Drain, "withdraw": Withdraw, "announce": Announce,
		"invalid(0)": Reason(0), "invalid(9)": Severity(9), "invalid(4)": Verb(4), "invalid(200)": Verdict(200),
	} {
		if got := v.String(); got != want {
			t.Errorf("%T: %q, want %q", v, got, want)
		}
	}
}

func TestVerbsTravelAsText(t *testing.T) {
	for _, v := range []Verb{Drain, Withdraw, Announce} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got Verb
		if err := json.Unmarshal(text, &got); err != nil || got != v {
			t.Errorf("%s came back as %v, %v", text, got, err)
		}
	}
	v := Withdraw
	for _, text := range []string{"", "Drain", "invalid(0)", "auto"} {
		err := v.UnmarshalText([]byte(text))
		if err == nil || v != Withdraw {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	want := `policy: "auto" is not a verb: write drain, withdraw or announce`
	if err := v.UnmarshalText([]byte("auto")); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
