package schemas

import "regexp"

// BaselineQueries is the algorithm whose success rate shows how much the queries of task predict
// reveal.
const BaselineQueries = "baseline/queries"

// Metric is a number that workers measure in every trial of a task, or that algorithms report.
type Metric struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Unit string `json:"unit,omitempty"`
}

// endsInUnit matches "time [seconds]", but not "lies in [0, 1]".
var endsInUnit = regexp.MustCompile(`^(.*\S)\s+\[(\pL[^\[\],]*)\]\s*$`)

// DeclaredMetric returns the metric of an algorithm whose doc may end in a unit: "time [seconds]".
func DeclaredMetric(name, doc string) Metric {
	if m := endsInUnit.FindStringSubmatch(doc); m != nil {
		return Metric{name, m[1], m[2]}
	}
	return Metric{Name: name, Doc: doc}
}

// Meaning returns the description of the metric, with its unit, or its name if there is no
// description.
func (m Metric) Meaning() string {
	switch {
	case m.Doc == "":
		return "metric " + m.Name
	case m.Unit == "":
		return m.Doc
	}
	return m.Doc + " [" + m.Unit + "]"
}
