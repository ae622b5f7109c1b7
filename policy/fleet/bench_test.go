package fleet

import "testing"

// BenchmarkAdmit asks in a fleet of 10,000 nodes, 100 of them with grants.
func BenchmarkAdmit(b *testing.B) {
	f := alike(10_000, 10, Limits{MinAnnouncing: 100, MaxWithdrawn: 0.3})
	for i := range 100 {
		f.Grants = append(f.Grants, held(f.Nodes[i*50].Name))
	}
	for b.Loop() {
		if a := Admit(f, ask(f.Nodes[7].Name)); a.Refusal.Limit != "" && a.Refusal.Limit != BrimLimit && a.Refusal.Limit != NoRest {
			b.Fatalf("%+v", a)
		}
	}
}
