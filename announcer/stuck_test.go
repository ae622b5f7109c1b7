package announcer

import (
	"testing"
	"time"
)

func TestAWithdrawalIsStuckWhenNothingMoves(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tt := range []struct {
		name          string
		behind, moved time.Time
		want          bool
	}{
		{"nothing is behind", time.Time{}, ago(time.Hour), false},
		{"just now", ago(withdrawTime - 1), ago(time.Hour), false},
		{"for long, and nothing moved", ago(withdrawTime), ago(withdrawTime), true},
		{"for long, and nothing ever moved", ago(withdrawTime), time.Time{}, true},
		{"for long, while others move", ago(10 * withdrawTime), ago(withdrawTime - 1), false},
		{"for too long, while others move", ago(longestWithdraw), ago(0), true},
	} {
		if got := (&session{behind: tt.behind, moved: tt.moved}).stuck(now); got != tt.want {
			t.Errorf("%s: stuck is %v", tt.name, got)
		}
	}
}

func TestAServerThatHangsHoldsUpNoOther(t *testing.T) {
	hang := make(chan struct{})
	done := make(chan error, cap(turns))
	for range cap(turns) {
		go func() {
			done <- inTurn("hang", func() error { <-hang; return nil })
		}()
	}
	begin := time.Now()
	if err := inTurn("go on", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= callTime {
		t.Errorf("it waited %v for those that hang", took)
	}
	close(hang)
	for range cap(turns) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(turns) != 0 {
		t.Errorf("%d turns are not given back", len(turns))
	}
}
