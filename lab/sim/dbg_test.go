package sim

import (
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	data, _ := os.ReadFile("scenarios/" + os.Getenv("SC") + ".yaml")
	sc, err := Parse("x", data)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 3; seed++ {
		w := newRouted(sc, seed)
		sh := w.sheds()
		for r := 0; r < 4; r++ {
			fmt.Println("sheds", sc.Sites[w.routes[r].site].Name, sc.Sites[w.routes[r].site].Neighbors[w.routes[r].neighbor].Name, sh[r])
		}
		p := w.foresee()
		ph := w.phases()
		for _, x := range ph {
			fmt.Println("phase", x.from, x.to)
		}
		for _, m := range p.moves {
			fmt.Println(m.at, m.rungs)
		}
		s := w.still()
		for _, x := range ph {
			s.demands = x.demands
			clear(s.rungs)
			s.fill()
			fmt.Printf("plain %v: ", x.from)
			for i := range s.loads {
				fmt.Printf("%.2f ", s.loads[i]/w.links[i].capacity)
			}
			fmt.Println()
			for _, m := range p.moves {
				if m.at < x.to {
					copy(s.rungs, m.rungs)
				}
			}
			s.fill()
			fmt.Printf("plan  %v: ", x.from)
			for i := range s.loads {
				fmt.Printf("%.2f ", s.loads[i]/w.links[i].capacity)
			}
			fmt.Println()
		}
	}
}
