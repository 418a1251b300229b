package trial

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// A Role is a set of bits that describe the uses of a key column.
type Role uint8

const (
	// Describes marks columns that describe the problem or the criterion of success. Printed tables show them once
	// per class.
	Describes Role = 1 << iota
	// Quantity marks numbers that may be the x of a fit.
	Quantity
	// FromZero marks a Quantity for which null means 0. For other quantities, null means "does not apply".
	FromZero
	// Derived marks columns that follow from other columns, or are the same in all cells of a sweep.
	Derived
)

// A KeyColumn is a column that identifies a cell, and the function that reads its value from the cell.
type KeyColumn struct {
	schemas.ColumnOf[Cell]
	Role Role
}

// Has reports whether the column has all of the given roles.
func (k KeyColumn) Has(roles Role) bool { return k.Role&roles == roles }

// Number returns the column's value as a number; 0 if it is null or not a number.
func (k KeyColumn) Number(c *Cell) float64 {
	switch v := k.Value(c).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// KeyColumns returns the columns that identify a cell, in the order in which table and curve begin with them. The
// columns p_<parameter> follow them.
func KeyColumns() []KeyColumn { return slices.Clone(keyColumns) }

// FolderColumn is a further key column of results that are joined from several folders.
const FolderColumn = "folder"

// IsKeyColumn reports whether a key column has the name.
func IsKeyColumn(name string) bool {
	return name == FolderColumn || slices.ContainsFunc(keyColumns, func(k KeyColumn) bool { return k.Name == name })
}

// IsParam reports whether name is that of a column for a parameter of algorithms.
func IsParam(name string) bool { return strings.HasPrefix(name, schemas.ParamPrefix) }

// IdentifiesCell reports whether name is that of a key column or a parameter.
func IdentifiesCell(name string) bool { return IsKeyColumn(name) || IsParam(name) }

var keyColumns = slices.Concat([]KeyColumn{
	text(Derived, "cell", "the cell's id: a letter and 9 hex digits of its key; joins the files of a result",
		func(c *Cell) string { return c.Key.Short() }),
	text(Derived, "task", "learn, predict, online or audit", func(c *Cell) string { return c.Task }),
	text(0, "algorithm", "the algorithm's name in the sweep file", func(c *Cell) string { return c.As }),
	text(0, "class", "concept class", func(c *Cell) string { return c.Problem.Class }),
	text(0, "problem", "the problem of a plugin that draws the examples; null for problems of Shatter",
		func(c *Cell) string {
			if c.Problem.Plugin == nil {
				return ""
			}
			return c.Problem.Plugin.Name
		}),
	text(0, "file", "the file of the class matrix", func(c *Cell) string {
		if c.Problem.Matrix == nil {
			return ""
		}
		return filepath.Base(c.Problem.Matrix.File)
	}),
	whole(Describes|Quantity, "d", "numbers per point; null where a point is one number",
		func(c *Cell) int64 { return int64(c.Problem.Dim) }),
	whole(Describes|Quantity, "domain", "X: the numbers of a point are 0..X-1",
		func(c *Cell) int64 { return int64(c.Problem.Domain) }),
	text(0, "distribution", "distribution of the points; null if the population is a file",
		func(c *Cell) string { return c.Problem.Distribution }),
}, distributionColumns(), []KeyColumn{
	text(Describes, "target", "target that labels the points: random (drawn for each trial), uniform, middle, or a "+
		"hypothesis; null if an adversary or a file provides the labels", func(c *Cell) string { return c.Problem.Target }),
	whole(Describes|Quantity, "literals", "random conjunctions: their literals",
		func(c *Cell) int64 { return int64(c.Problem.Literals) }),
	text(Describes, "noise", "noise: none, random, adversarial or malicious",
		func(c *Cell) string { return c.Problem.Noise.Kind }),
	float(Describes|Quantity|FromZero, "noise_rate", "rate of the noise; null without noise",
		func(c *Cell) float64 { return c.Problem.Noise.Rate }),
	text(0, "data", "the file whose rows are the population", func(c *Cell) string {
		if c.Problem.Data == nil {
			return ""
		}
		return filepath.Base(c.Problem.Data.File)
	}),
	key(Describes, schemas.BoolColumn, "disguise", "whether each trial applies a random isometry to the rows and a "+
		"random sign to the labels, so that prior knowledge of the data is useless; null without data", func(c *Cell) any {
		if c.Problem.Data == nil {
			return nil
		}
		return c.Problem.Disguise
	}),
	whole(Quantity, "queries", "task predict: queries of each game", func(c *Cell) int64 { return int64(c.Queries) }),
	text(0, "adversary", "adversary that asks the queries or plays the rounds", func(c *Cell) string {
		if c.Adversary == nil {
			return ""
		}
		return c.Adversary.String()
	}),
	float(Quantity, "epsilon", "privacy budget epsilon; null if the algorithm states no guarantee",
		func(c *Cell) float64 { return c.Epsilon }),
	float(Describes|Quantity, "delta", "privacy budget delta; null as for epsilon, and for pure guarantees",
		func(c *Cell) float64 { return c.Delta }),
	text(Derived, "privacy", "the kind of the guarantee: pure or approximate; null as for epsilon",
		func(c *Cell) string {
			switch {
			case c.Guarantee == nil:
				return ""
			case c.Guarantee.GetPure():
				return "pure"
			}
			return "approximate"
		}),
	text(Derived, "privacy_standing", "proved: of a built-in algorithm, by the theorem in privacy_source; "+
		"declared: by the author of a plugin, unchecked; "+
		"unproved: intended, without a proof; null as for epsilon",
		(*Cell).PrivacyStanding),
	float(Describes|Quantity, "alpha", "a trial succeeds when its error is at most reference + alpha, in task "+
		"online when its regret per round is at most alpha",
		func(c *Cell) float64 { return c.Alpha }),
	float(Describes|Quantity, "beta", "n suffices when trials succeed with probability at least 1 - beta",
		func(c *Cell) float64 { return c.Beta }),
	key(Describes, schemas.FloatColumn, "reference", "the reference error; without a goal, the error of the best "+
		"hypothesis of the class, null if it is 0 or unknown", func(c *Cell) any {
		switch {
		case c.Kind().Rounds(), c.Kind().Success == "": // each trial of a game has its own
			return nil
		case c.Alpha == 0:
			return schemas.Nonzero(c.Reference)
		}
		return schemas.Clean(c.Reference)
	}),
	text(0, "answers", "mean if an answer to a point may be the mean of a label; null if answers are labels, "+
		"and in task online", func(c *Cell) string {
		if c.Means {
			return schemas.AnswersMean
		}
		return ""
	}),
	text(Describes, "states", "task predict: the states whose error counts: all (the worst of all probed states), every "+
		"(the worst of the states before each query), hard (as all, with errors by number of hard queries), or final",
		func(c *Cell) string { return c.States }),
	key(0, schemas.IntColumn, "replica", "copies of one setting with independent noise: 0, 1, ...",
		func(c *Cell) any { return int64(c.Replica) }),
	text(Derived, "sample", "first 10 hex digits of the key of seed and problem: cells that share it have the same data "+
		"in trials of equal n and repetition", func(c *Cell) string {
		if c.DataKey == (Key{}) {
			return ""
		}
		return c.DataKey.Short()
	}),
})

// distributionColumns returns the columns of the keys that apply to some distributions only.
func distributionColumns() (columns []KeyColumn) {
	for _, k := range distribution.Keys() {
		doc := strings.Join(k.Distributions(), ", ") + ": " + k.Doc
		value := func(c *Cell) float64 { return *k.Field(c.Problem) }
		columns = append(columns, float(Describes|Quantity, k.Name, doc, value))
	}
	return columns
}

// text returns a column of strings, null if empty.
func text(role Role, name, doc string, value func(*Cell) string) KeyColumn {
	return key(role, schemas.TextColumn, name, doc, func(c *Cell) any { return schemas.Nonzero(value(c)) })
}

// whole returns a column of integers, null if 0.
func whole(role Role, name, doc string, value func(*Cell) int64) KeyColumn {
	return key(role, schemas.IntColumn, name, doc, func(c *Cell) any { return schemas.Nonzero(value(c)) })
}

// float returns a column of numbers, null if 0.
func float(role Role, name, doc string, value func(*Cell) float64) KeyColumn {
	return key(role, schemas.FloatColumn, name, doc, func(c *Cell) any { return schemas.Nonzero(value(c)) })
}

// key returns a column whose values may be 0 as well as null.
func key(role Role, of schemas.ColumnType, name, doc string, value func(*Cell) any) KeyColumn {
	column := schemas.Column{Name: name, Type: of, Doc: doc}
	return KeyColumn{schemas.ColumnOf[Cell]{Column: column, Value: value}, role}
}

// CanSucceed reports whether the cell has a criterion of success: the task online has none without a search, and
// audits have none.
func (c *Cell) CanSucceed() bool { return c.Alpha > 0 && c.Kind().Success != "" }
