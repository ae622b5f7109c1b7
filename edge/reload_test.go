package edge

import "context"

// reload takes up the base configuration with edits.
func (w *world) reload(edits ...string) []Plan {
	w.t.Helper()
	plans, err := w.node.Reload(context.Background(), w.config(edits...), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rest()
	return plans
}
