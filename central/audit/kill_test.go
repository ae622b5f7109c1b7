package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/central/store"
)

// writerVariable has the directory in which a copy of the test binary writes.
const writerVariable = "CATCHMENT_AUDIT_TEST_WRITER"

const (
	killRounds  = 100
	killWriters = 4
	// killSpread is the longest life of a writer, counted from its start in every
	// other round, and else from its first acknowledged write.
	killSpread = 150 * time.Millisecond
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		if err := write(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// pair is half of what a writer changes at once.
func pair(writer int, half string) string { return fmt.Sprintf("writer/%d/%s", writer, half) }

// write has each writer count in two documents, which each transaction makes
// alike, with an audit record for each count, until the process is killed. It
// prints every count that was acknowledged.
func write(dir string) error {
	s, err := store.OpenEmbedded(context.Background(), dir, store.Options{})
	if err != nil {
		return err
	}
	l := New(s, time.Now, nil)
	failed := make(chan error)
	for w := range killWriters {
		go func() { failed <- count(s, l, w) }()
	}
	return <-failed
}

// count counts on from what is stored.
func count(s store.Store, l *Log, w int) error {
	item, err := s.Get(context.Background(), pair(w, "a"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.Atoi(string(item.Value))
	revision := item.Revision
	for {
		n++
		target := fmt.Sprintf("%d/%d", w, n)
		_, revision, err = l.Commit(context.Background(),
			[]store.Cond{{Key: pair(w, "a"), Revision: revision}, {Key: pair(w, "b"), Revision: revision}},
			[]store.Op{{Key: pair(w, "a"), Value: fmt.Append(nil, n)}, {Key: pair(w, "b"), Value: fmt.Append(nil, n)}},
			Entry{Who: "writer", Method: "Count", Target: target, Outcome: Done})
		if err != nil {
			return err
		}
		fmt.Println(target)
	}
}

func TestAfterKillNineNoAcknowledgedWriteIsLost(t *testing.T) {
	const lanes = 2 // directories, written at the same time
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			if err := killLane(filepath.Join(t.TempDir(), fmt.Sprint(lane)), killRounds/lanes); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// killLane writes to a directory, is killed and begins again, for some rounds.
func killLane(dir string, rounds int) error {
	var acknowledged [killWriters]int
	idle := 0
	for round := range rounds {
		life := killSpread*time.Duration(round)/time.Duration(rounds) + rand.N(killSpread/time.Duration(rounds))
		before := acknowledged
		if err := killAfter(dir, life, round%2 == 1, &acknowledged); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if acknowledged == before {
			idle++
		}
		if round%10 == 9 || round == rounds-1 {
			if err := check(dir, acknowledged); err != nil {
				return fmt.Errorf("after round %d: %w", round, err)
			}
		}
	}
	if idle > rounds/2 {
		return fmt.Errorf("%d of %d writers were killed before their first write: the test shows nothing", idle, rounds)
	}
	return nil
}

// killAfter starts a writer and kills it, some time after its start or its
// first acknowledged write, and takes down what was acknowledged.
func killAfter(dir string, life time.Duration, written bool, acknowledged *[killWriters]int) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVariable+"="+dir)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	limit := life
	if written {
		limit = time.Minute
	}
	killed := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	defer killed.Stop()
	lines := bufio.NewScanner(out)
	var counted [killWriters]bool
	for lines.Scan() {
		if written {
			killed.Reset(life)
			written = false
		}
		var w, n int
		if _, err := fmt.Sscanf(lines.Text(), "%d/%d", &w, &n); err != nil {
			continue // cut off by the kill
		}
		// What was made and not acknowledged is counted before a writer's first line.
		if n <= acknowledged[w] || counted[w] && n != acknowledged[w]+1 {
			cmd.Process.Kill()
			cmd.Wait()
			return fmt.Errorf("writer %d counts on with %d after %d", w, n, acknowledged[w])
		}
		acknowledged[w], counted[w] = n, true
	}
	cmd.Wait()
	if problem.Len() > 0 {
		return errors.New(problem.String())
	}
	return nil
}

// check opens the directory and compares it with what was acknowledged.
func check(dir string, acknowledged [killWriters]int) error {
	s, err := store.OpenEmbedded(context.Background(), dir, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := New(s, time.Now, nil).Verify(context.Background())
	if err != nil {
		return err
	}
	if !v.OK {
		return fmt.Errorf("the audit chain breaks: %+v", v)
	}
	total := 0
	for w := range killWriters {
		n, err := same(s, w)
		if err != nil {
			return err
		}
		if n < acknowledged[w] {
			return fmt.Errorf("writer %d has %d and %d was acknowledged", w, n, acknowledged[w])
		}
		total += n
	}
	if v.Records != uint64(total) {
		return fmt.Errorf("%d records for %d changes", v.Records, total)
	}
	return records(s)
}

// same returns the count of a writer, which both halves must have.
func same(s store.Store, w int) (int, error) {
	items, _, err := s.List(context.Background(), fmt.Sprintf("writer/%d/", w))
	if err != nil || len(items) == 0 {
		return 0, err
	}
	if len(items) != 2 || string(items[0].Value) != string(items[1].Value) || items[0].Revision != items[1].Revision {
		return 0, fmt.Errorf("a transaction of writer %d is torn: %v", w, items)
	}
	return strconv.Atoi(string(items[0].Value))
}

// records checks that there is one record for each count.
func records(s store.Store) error {
	items, _, err := s.List(context.Background(), recordKey)
	if err != nil {
		return err
	}
	var last [killWriters]int
	for _, item := range items {
		var r Record
		var w, n int
		if err := json.Unmarshal(item.Value, &r); err != nil {
			return err
		}
		if _, err := fmt.Sscanf(r.Target, "%d/%d", &w, &n); err != nil || n != last[w]+1 {
			return fmt.Errorf("record %d is of %s after %d", r.Number, r.Target, last[w])
		}
		last[w] = n
	}
	return nil
}
