package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// resolvedSweep is the form of Plan.Resolved: everything in a sweep file that has meaning for an
// outcome, and nothing else. Limits and the paths of plugins and data are not in it, because no
// result depends on them, nor are fits, which are read off finished cells.
type resolvedSweep struct {
	Format   int                        `json:"format"`
	Name     string                     `json:"name"`
	Task     string                     `json:"task"`
	Seed     schemas.Seed               `json:"seed"`
	Problems map[string]schemas.Problem `json:"problems"` // by the first digits of their keys
	Measures []measure                  `json:"measures"`
	Cells    []resolvedCell             `json:"cells"`
}

// measure says how cells are measured: at the sizes of a list, or by a search.
type measure struct {
	N      []int64     `json:"n,omitempty"`
	Trials int         `json:"trials,omitempty"`
	Find   *trial.Find `json:"find,omitempty"`
	Max    int64       `json:"max,omitempty"`
}

func measureOf(c *trial.Cell) measure {
	return measure{N: c.N, Trials: c.Trials, Find: c.Find, Max: c.MaxTrials}
}

func (m measure) String() string {
	if m.Find == nil {
		return fmt.Sprintf("n %v with %d trials each", m.N, m.Trials)
	}
	text := fmt.Sprintf("find from %d to %d, within %v, confidence %v, at most %d trials",
		m.Find.From, m.Find.To, m.Find.Within, m.Find.Confidence, m.Max)
	if m.Find.Step > 0 {
		text += fmt.Sprintf(", multiples of %d", m.Find.Step)
	}
	if m.Find.Monotone {
		text += ", monotone"
	}
	return text
}

// resolvedCell is a cell of a resolvedSweep.
type resolvedCell struct {
	Key       trial.Key    `json:"key"`
	Problem   string       `json:"problem"`
	Algorithm string       `json:"algorithm"`
	As        string       `json:"as"`
	Params    trial.Params `json:"params"`
	Replica   int          `json:"replica"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Alpha     float64      `json:"alpha"`
	Beta      float64      `json:"beta"`
	Above     float64      `json:"above"`
	Answers   string       `json:"answers,omitempty"`
	Measure   int          `json:"measure"` // index

	Queries   int                `json:"queries,omitempty"` // task predict
	Adversary *schemas.Adversary `json:"adversary,omitempty"`
	States    string             `json:"states,omitempty"` // task predict: "" for final
}

// record returns Plan.Resolved, in the form of a resolvedSweep.
func record(p *Plan) ([]byte, error) {
	problems, measures := map[string]any{}, map[string]int{}
	var list []any
	cells := trial.Fragment("[")
	for i, c := range p.Cells {
		id := c.DataKey.Short()
		if problems[id] == nil {
			problems[id] = c.Problem
		}
		m := measureOf(c)
		how := m.String()
		if _, ok := measures[how]; !ok {
			measures[how] = len(list)
			list = append(list, m)
		}
		if i > 0 {
			cells = append(cells, ',')
		}
		var err error
		cell := map[string]any{
			"key": c.Key.String(), "problem": id, "algorithm": c.Algorithm, "as": c.As, "params": c.Params,
			"replica": c.Replica, "epsilon": c.Epsilon, "delta": c.Delta, "alpha": c.Alpha, "beta": c.Beta,
			"above": c.Above, "measure": measures[how],
		}
		if c.Means {
			cell["answers"] = schemas.AnswersMean
		}
		if c.Adversary != nil {
			cell["queries"], cell["adversary"] = c.Queries, c.Adversary
		}
		if c.Probes() {
			cell["states"] = c.States
		}
		if cells, err = trial.AppendCanonical(cells, cell); err != nil {
			return nil, fmt.Errorf("write the resolved sweep: %w", err)
		}
	}
	b, err := trial.Canonical(map[string]any{
		"format": trial.Format, "name": p.Name, "task": p.Cells[0].Task, "seed": p.Seed.Seed,
		"problems": problems, "measures": list, "cells": append(cells, ']'),
	})
	if err != nil {
		return nil, fmt.Errorf("write the resolved sweep: %w", err)
	}
	return b, nil
}
