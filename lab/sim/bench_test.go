package sim

import (
	"fmt"
	"strings"
	"testing"
)

// fleet writes a scenario of sites in a ring, with their own clients nearest to
// each, that all have their evening at another hour.
func fleet(sites, links int, duration, period string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "name: fleet\nduration: %s\nmetrics: {period: %s, delay: 1s}\nload: {centre: true}\nsites:\n", duration, period)
	for i := range sites {
		fmt.Fprintf(&out, "  - name: s%d\n    links:\n", i)
		for l := range links {
			fmt.Fprintf(&out, "      - {name: l%d, capacity: 100Gbps}\n", l)
		}
		fmt.Fprintf(&out, "    neighbors:\n")
		for l := range links {
			fmt.Fprintf(&out, "      - {name: n%d, asn: %d, link: l%d, ladder: [{steer: 0.2}, {prepend: 1, steer: 0.2}, {prepend: 3, steer: 0.2}]}\n", l, 65001+i*links+l, l)
		}
	}
	fmt.Fprintf(&out, "groups:\n")
	for i := range sites {
		fmt.Fprintf(&out, "  - {name: c%d, count: 20, demand: %dGbps, near: [s%d, s%d, s%d], shapes: [{diurnal: {peak: %dh, low: 0.3}}]}\n",
			i, 95*links, i, (i+1)%sites, (i+sites-1)%sites, i%24)
	}
	return out.String()
}

// BenchmarkDayOfAFleet is 24 hours of 50 sites with 4 links each at steps of a
// second, with a figure of every link in every second. It shall take less than
// 30 s on two processors.
func BenchmarkDayOfAFleet(b *testing.B) {
	sc, err := Parse("fleet", []byte(fleet(50, 4, "24h", "1s")))
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if f := Run(sc, "pi", uint64(i)+1, nil); f[UpdatesPerHour] == 0 {
			b.Fatal("nothing was steered")
		}
	}
	b.ReportMetric(0, "ns/op") // one takes seconds
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/day")
}

// BenchmarkWorldcup is one run of the scenario with the default controller.
func BenchmarkWorldcup(b *testing.B) {
	sc := load(b, "worldcup")
	for i := range b.N {
		Run(sc, "pi", uint64(i)+1, nil)
	}
}
