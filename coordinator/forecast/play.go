package forecast

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/estimate"
)

// plays holds the courses of searches that were played with imagined outcomes.
//
// What a search reads depends little on n*, if sizes are counted in parts of it, except near the ends of
// its range. And it reads sizes near n*, so of a shape the slope there says most. So searches are played
// with the odds of success a power of n, for some n* in each octave from the first size on, and one
// octave of one range stands for all that are far enough from both ends. The same courses serve all
// cells and all beliefs.
type plays struct {
	mu    sync.Mutex
	known map[played]*Course
}

// played identifies a course that was played.
type played struct {
	find   estimate.Find
	slope  float64
	octave int // of n*, in octaves from the first size on
	turn   int // place in the octave
}

const (
	endReach  = 1  // octaves from either end of the range that stand for themselves
	inner     = 16 // the first size of the range that stands for others
	leastUnit = 8. // sizes within the widest bracket that its octave has at least
)

// course returns the course that a search takes in a scenario by the luck of a turn. Sizes below least are
// refused.
func (p *plays) course(find estimate.Find, sc Scenario, turn int, least int64) *Course {
	key := played{find: find, slope: shapes[sc.shape].slope}
	key.octave = int(math.Floor(math.Log2(sc.star / float64(find.From))))
	far := key.octave >= endReach && math.Ldexp(float64(find.From), key.octave+1+endReach) <= float64(find.To)
	if far && find.Step <= 1 && find.Gap <= 1 && sc.star*(find.Within-1) >= leastUnit {
		key.find.From, key.octave = inner, endReach
		for math.Ldexp(inner, key.octave)*(find.Within-1) < leastUnit {
			key.octave++
		}
		key.find.To = inner << (key.octave + 1 + innerReach)
	} else if reach := math.Ldexp(float64(find.From), key.octave+1+innerReach); reach < float64(find.To) {
		key.find.To = int64(reach) // near the first size the last one says nothing
	}
	turns := turnsOf(key.slope)
	key.turn = turn % turns
	star := float64(key.find.From) * math.Exp2(float64(key.octave)+(float64(key.turn)+0.5)/float64(turns))
	return p.play(key, star).moved(sc.star/star, find, least)
}

const innerReach = 5 // octaves above its octave that the range that stands for others has

// play returns the course of a search with n* at star, which it plays at most once.
func (p *plays) play(key played, star float64) *Course {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[played]*Course{}
	}
	if p.known[key] == nil {
		p.known[key] = play(key.find, star, key.slope)
	}
	return p.known[key]
}

// turnsOf returns the number of courses that are played in an octave with that slope. The flatter they
// are, the more they take to play, and most searches are steep.
func turnsOf(slope float64) int {
	switch {
	case slope < 1:
		return 2
	case slope < 2:
		return 4
	case slope < 4:
		return 6
	}
	return 10
}

// play plays a search to its end with imagined outcomes.
func play(find estimate.Find, star, slope float64) *Course {
	c := &Course{}
	find.MaxTrials = min(find.MaxTrials, mostTrials)
	rng := rand.New(rand.NewPCG(math.Float64bits(star), math.Float64bits(slope)))
	s, err := estimate.NewSearch(find)
	if err != nil {
		return c // a plan holds valid searches only
	}
	checking := false
	for !s.Done() {
		if !checking && s.Checking() {
			checking, c.spots = true, len(c.blocks)
		}
		largest := int64(0)
		for _, b := range s.Want() {
			c.blocks = append(c.blocks, b)
			largest = max(largest, b.N)
			rate := shape{slope: slope}.rate(float64(b.N)/star, find.Target)
			for i := range b.Count {
				o := estimate.Miss
				if rng.Float64() < rate {
					o = estimate.Success
				}
				s.Add(b.N, b.First+i, o)
			}
		}
		c.countRound(largest)
	}
	if !checking {
		c.spots = len(c.blocks)
	}
	c.sizes = len(s.Result().Points)
	return c
}

// countRound counts a round of outcomes that the search waited for; n is the largest sample size in
// it.
func (c *Course) countRound(n int64) {
	if last := len(c.waits) - 1; last >= 0 && c.waits[last].N == n {
		c.waits[last].Count++
	} else if n > 0 {
		c.waits = append(c.waits, estimate.Block{N: n, Count: 1})
	}
}

// moved returns the course with its sizes times factor, in the range of find. It begins with the
// sizes of that which come before its own first one.
func (c *Course) moved(factor float64, find estimate.Find, least int64) *Course {
	out := &Course{sizes: c.sizes}
	for n := find.From; len(c.blocks) > 0 && 1.5*float64(n) < factor*float64(c.blocks[0].N); n *= 2 {
		if n >= least {
			out.blocks = append(out.blocks, estimate.Block{N: n, Count: firstCheckpoint})
			out.sizes++
		}
	}
	before := len(out.blocks)
	move := func(b estimate.Block) estimate.Block {
		b.N = min(max(int64(math.Round(float64(b.N)*factor)), find.From), find.To)
		return b
	}
	for i, b := range c.blocks {
		if b = move(b); b.N >= least {
			out.blocks = append(out.blocks, b)
		}
		if i+1 == c.spots {
			out.spots = len(out.blocks)
		}
	}
	if c.spots == 0 {
		out.spots = before
	}
	for _, b := range c.waits {
		out.waits = append(out.waits, move(b))
	}
	return out
}

const firstCheckpoint = 8 // trials that a search first reads at a size
