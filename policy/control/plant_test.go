package control

import (
	"math"
	"math/rand/v2"
	"time"
)

// plant is one site with two equal links of 100,000 sessions each. Sessions last
// 22 minutes on average, ended ones are replaced, first choice half and half. A
// session that a link refuses or drops tries the other; when that refuses too it
// stays where it was or tries again.
type plant struct {
	rng     *rand.Rand
	now     time.Duration
	on      [2]float64
	waiting float64
	first   float64 // share of new sessions whose first choice is the first link
}

const (
	linkSessions  = 100_000
	sessionLength = 1350 // s
	matchBegins   = 10 * time.Minute
)

// demand is 0.656 of a link's sessions, and 1.64 from a minute after the match began.
func demandAt(t time.Duration) float64 {
	return linkSessions * (0.656 + 0.984*clamp(float64(t-matchBegins)/float64(time.Minute), 0, 1))
}

func (p *plant) binomial(n, share float64) float64 {
	if n <= 0 || share <= 0 {
		return 0
	}
	v := n*share + math.Sqrt(n*share*(1-share))*p.rng.NormFloat64()
	return clamp(math.Round(v), 0, n)
}

// second moves the plant on by one second under what the controllers ask for.
func (p *plant) second(out [2]Output) {
	p.now += time.Second
	for i := range p.on {
		p.on[i] -= p.binomial(p.on[i], 1.0/sessionLength)
	}
	fresh := max(0, demandAt(p.now)-p.on[0]-p.on[1]-p.waiting) + p.waiting
	p.waiting = 0
	first := p.binomial(fresh, p.first)
	choice := [2]float64{first, fresh - first}
	var refused, dropped [2]float64
	for i := range choice {
		refused[i] = p.binomial(choice[i], out[i].Slowdown)
		dropped[i] = p.binomial(p.on[i], out[i].Drop/5)
	}
	for i := range p.on {
		p.on[i] += choice[i] - refused[i] - dropped[i]
	}
	for i := range p.on {
		other := 1 - i
		stay := p.binomial(dropped[i], out[other].Slowdown)
		p.on[i] += stay
		p.on[other] += dropped[i] - stay
		again := p.binomial(refused[i], out[other].Slowdown)
		p.waiting += again
		p.on[other] += refused[i] - again
	}
}

// course is what a run showed from 15 minutes after the surge on.
type course struct {
	swing        float64 // highest less lowest, of the worse link
	correlation  float64
	farthest     float64 // from 0.82
	over95, over float64 // s
}

// play runs the plant for two hours; figures come every period, that late.
func play(c Config, seed uint64, first float64, period, late time.Duration) course {
	p := &plant{rng: rand.New(rand.NewPCG(seed, 1)), first: first}
	p.on = [2]float64{demandAt(0) * first, demandAt(0) * (1 - first)}
	var states [2]State
	var out [2]Output
	var history [][2]float64
	var a, b []float64
	for p.now < 2*time.Hour {
		p.second(out)
		history = append(history, [2]float64{p.on[0] / linkSessions, p.on[1] / linkSessions})
		at := (p.now - late).Truncate(period)
		for i := range out {
			in := Sample{Now: start.Add(p.now)}
			if at > 0 {
				in.At, in.Load = start.Add(at), history[at/time.Second-1][i]
			}
			states[i], out[i] = c.Next(states[i], in)
		}
		if p.now >= matchBegins+16*time.Minute {
			a, b = append(a, history[len(history)-1][0]), append(b, history[len(history)-1][1])
		}
	}
	return summarize(a, b)
}

func summarize(a, b []float64) course {
	var k course
	var ma, mb float64
	for i := range a {
		ma, mb = ma+a[i]/float64(len(a)), mb+b[i]/float64(len(b))
	}
	var ab, aa, bb float64
	for _, load := range [][]float64{a, b} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range load {
			low, high = min(low, v), max(high, v)
			k.farthest = max(k.farthest, math.Abs(v-0.82))
			if v > 0.95 {
				k.over95++
			}
			if v > 1 {
				k.over++
			}
		}
		k.swing = max(k.swing, high-low)
	}
	for i := range a {
		ab, aa, bb = ab+(a[i]-ma)*(b[i]-mb), aa+(a[i]-ma)*(a[i]-ma), bb+(b[i]-mb)*(b[i]-mb)
	}
	k.correlation = ab / math.Sqrt(aa*bb)
	return k
}
