package main

import (
	"math/rand/v2"
	"os"

	"github.com/shatterlab/shatter/plugins/algo"
)

type segmentParams struct {
	Size  int    `doc:"number of points" min:"2"`
	Fault string `doc:"what it does wrong" choices:"none,chance,crash,class"`
}

// segments are the thresholds on uniform points, with a fault.
var segments = algo.Generator[segmentParams]{
	Name: "third/segments", Version: "1.0.0", Doc: "Thresholds on uniform points.",
	Defaults: segmentParams{Size: 64, Fault: "none"},
	Pose: func(p *segmentParams) (algo.Posed, error) {
		if p.Size == 13 {
			return algo.Posed{}, algo.Invalid("size 13 brings bad luck: use another")
		}
		class, none := "thresholds", 0.0
		if p.Fault == "class" {
			class = "segments"
		}
		return algo.Posed{Class: class, Domain: uint64(p.Size), Dim: 1, LeastError: &none}, nil
	},
	Target: func(p segmentParams, r *rand.Rand) (algo.Example, error) {
		threshold := r.IntN(p.Size + 1)
		return func(r *rand.Rand, x []float64) float64 {
			point := r.IntN(p.Size)
			switch p.Fault {
			case "chance":
				point = rand.IntN(p.Size)
			case "crash":
				os.Exit(3)
			}
			x[0] = float64(point)
			if point >= threshold {
				return 1
			}
			return -1
		}, nil
	},
}
