package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestWhatIsNotUnderstoodIsToldToTheCentreAndToWhoLooks(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		zoned := nodeWindow("w1", 10*time.Minute)
		zoned.Zone = "Lab/Newtown"
		c.wants(func(in *centralv1.Intent) {
			in.Windows = []*centralv1.Window{zoned, nodeWindow("w2", 10*time.Minute)}
			in.Tags = []*centralv1.Tag{{Value: "57629:x"}, {Value: "57629:101"}}
		})
		w.pass(time.Second)
		var generation uint64
		c.set(func() { generation = c.intent.GetGeneration() })
		said := c.last()
		if got := said.GetNotUnderstood(); len(got) != 2 || !strings.HasPrefix(got[0], `tag "57629:x": `) || !strings.Contains(got[1], `window w1: zone "Lab/Newtown"`) {
			t.Errorf("the report says %q", got)
		}
		if said.GetGeneration() != generation {
			t.Errorf("generation %d is in force, %d was sent: what is understood counts", said.GetGeneration(), generation)
		}
		warnings := strings.Join(w.snapshot().proto().GetWarnings(), "\n")
		if !strings.Contains(warnings, `left out: tag "57629:x"`) || !strings.Contains(warnings, "left out: window w1") {
			t.Errorf("warnings: %s", warnings)
		}
		if got := c.phase("w2"); got != "draining" {
			t.Errorf("the window that is understood: %q", got)
		}
		c.wants(func(in *centralv1.Intent) { in.Windows, in.Tags = in.Windows[1:], in.Tags[1:] })
		w.pass(time.Second)
		if got := c.last().GetNotUnderstood(); len(got) != 0 {
			t.Errorf("the report still says %q", got)
		}
	})
}

func TestLittleIsSaidOfMuchThatIsNotUnderstood(t *testing.T) {
	k := newCentreKeeper()
	for i := range 50 {
		k.bad = append(k.bad, fmt.Sprintf("tag %d: %s", i, strings.Repeat("ж", 1000)))
	}
	got := k.notUnderstood()
	if len(got) != mostBad {
		t.Errorf("%d texts", len(got))
	}
	for _, text := range got {
		if len(text) > mostBadText || strings.ToValidUTF8(text, "?") != text {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}
