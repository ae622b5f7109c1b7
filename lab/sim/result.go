package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Oracle is the name of the controller that knows the future.
const Oracle = "oracle"

// Options of Compare.
type Options struct {
	// Seeds is how many runs each controller makes: with the seeds 1, 2, ...
	Seeds int
	// Controllers by name; empty: all.
	Controllers []string
	// NoOracle leaves the oracle out.
	NoOracle bool
}

// Result is what a scenario showed. Its JSON form is a contract.
type Result struct {
	Scenario    string               `json:"scenario"`
	Seeds       int                  `json:"seeds"`
	Controllers map[string]Summaries `json:"controllers"`
	// Oracle is what perfect knowledge would have done.
	Oracle *Summaries `json:"oracle,omitempty"`
	// Variants are the results of the scenario's variants, in its order.
	Variants []Result `json:"variants,omitempty"`
}

// Results prints as one object if there is one, as an array if there are several.
type Results []Result

// MarshalJSON writes an object or an array.
func (rs Results) MarshalJSON() ([]byte, error) {
	if len(rs) == 1 {
		return json.Marshal(rs[0])
	}
	return json.Marshal([]Result(rs))
}

// Compare plays a scenario, and its variants, with each controller and each seed,
// on all processors. It fails for controllers that there are not, and when the
// context ends.
func Compare(ctx context.Context, sc *Scenario, o Options) (Result, error) {
	names := o.Controllers
	if len(names) == 0 {
		names = Controllers()
	}
	for _, name := range names {
		if !Known(name) {
			return Result{}, fmt.Errorf("there is no controller %q; there are %s", name, strings.Join(Controllers(), ", "))
		}
	}
	if o.Seeds < 1 {
		return Result{}, errors.New("at least one seed is needed")
	}
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if !o.NoOracle {
		names = append(names, Oracle)
	}
	out, err := compare(ctx, sc, names, o.Seeds)
	if err != nil {
		return out, err
	}
	for _, v := range sc.Variants {
		r, err := compare(ctx, v, names, o.Seeds)
		if err != nil {
			return out, err
		}
		out.Variants = append(out.Variants, r)
	}
	return out, nil
}

func compare(ctx context.Context, sc *Scenario, names []string, seeds int) (Result, error) {
	out := Result{Scenario: sc.Name, Seeds: seeds, Controllers: map[string]Summaries{}}
	all := make([]Figures, len(names)*seeds)
	workers := max(1, runtime.GOMAXPROCS(0)/len(all))
	if err := each(ctx, len(all), func(i int) {
		all[i] = play(sc, names[i/seeds], uint64(i%seeds)+1, workers, nil)
	}); err != nil {
		return out, err
	}
	for i, name := range names {
		s := summarize(all[i*seeds : (i+1)*seeds])
		if name == Oracle {
			out.Oracle = &s
		} else {
			out.Controllers[name] = s
		}
	}
	return out, nil
}

// each calls f for 0 to n-1 on all processors.
func each(ctx context.Context, n int, f func(i int)) error {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	var err error
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			err = ctx.Err()
			break feed
		}
	}
	close(next)
	workers.Wait()
	return err
}
