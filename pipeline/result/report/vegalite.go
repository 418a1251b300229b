package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// palette holds colours that are readable on white and on nearly black (contrast 3:1 at least) and
// distinct to the colour-blind. Shapes repeat what colours say.
var palette = []string{"#2A7FBF", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#8A63D2", "#7A7A7A", "#2E9BB5"}

var shapes = []string{"circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
	"triangle-left"}

// dashes holds the dash pattern of the lines of each mark.
var dashes = map[string][]float64{Measured: {1, 0}, Model: {1, 0}, Fit: {10, 3, 2, 3}, Proved: {6, 4},
	Declared: {9, 3}, Printed: {1.5, 3}}

// colour returns colour i. No two of the first 64 have the same shape too.
func colour(i int) string { return palette[i%len(palette)] }

// shape returns the shape that goes with colour i.
func shape(i int) string { return shapes[(i+i/len(palette))%len(shapes)] }

type object = map[string]any

// VegaLite returns the figure as a specification of Vega-Lite 6 that holds its own data. Its fields
// have names of this package, never the data's, because Vega-Lite reads the names of fields as
// paths.
func (f *Figure) VegaLite() ([]byte, error) {
	spec := vegaFigure{f}.spec()
	var values []object
	for i, s := range f.Series {
		for _, p := range s.Points {
			v := object{"colour": f.Colours[s.Colour], "mark": s.Mark, "series": i}
			for name, value := range map[string]any{"x": digits(p.X), "y": digits(p.Y), "low": digits(p.Low),
				"high": digits(p.High), "open": nonempty(p.Open), "cell": nonempty(p.Cell), "label": nonempty(p.Label)} {
				if value != nil {
					v[name] = value
				}
			}
			if s.Level {
				v["level"] = true
			}
			for j, k := range s.Keys {
				if k != "" {
					v["k"+strconv.Itoa(j)] = k
				}
			}
			values = append(values, v)
		}
	}
	spec["data"] = object{"values": values}
	raw, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	return append(raw, '\n'), nil
}

// vegaFigure is a figure as Vega-Lite draws it.
type vegaFigure struct{ *Figure }

// chart is what the page's script draws: a specification, and its data in a form without
// repetitions, from which the script makes the same values as VegaLite.
type chart struct {
	Name    string        `json:"name"`
	Spec    object        `json:"spec"`
	Colours []string      `json:"colours"`
	Series  []chartSeries `json:"series"`
}

type chartSeries struct {
	Mark   string   `json:"mark"`
	Colour int      `json:"colour"`
	Keys   []string `json:"keys,omitempty"`
	Level  bool     `json:"level,omitempty"`
	Cell   string   `json:"cell,omitempty"` // where all points have the same
	Points [][]any  `json:"points"`         // x, y, low, high, open, cell, label; nulls at the end are left out
}

// chart returns the figure as the page holds it.
func (f *Figure) chart() chart {
	c := chart{Name: f.Name, Spec: vegaFigure{f}.spec(), Colours: f.Colours}
	for _, s := range f.Series {
		to := chartSeries{Mark: s.Mark, Colour: s.Colour, Keys: s.Keys, Level: s.Level, Cell: s.Points[0].Cell}
		if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Cell != to.Cell }) {
			to.Cell = ""
		}
		for _, p := range s.Points {
			row := []any{digits(p.X), digits(p.Y), digits(p.Low), digits(p.High), nonempty(p.Open), nil, nonempty(p.Label)}
			if to.Cell == "" {
				row[5] = nonempty(p.Cell)
			}
			for row[len(row)-1] == nil && len(row) > 2 {
				row = row[:len(row)-1]
			}
			to.Points = append(to.Points, row)
		}
		c.Series = append(c.Series, to)
	}
	return c
}

// spec returns the specification without its data.
func (f vegaFigure) spec() object {
	return object{
		"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "description": f.Text, "width": "container",
		"height": 320,
		"params": f.params(), "layer": f.layers(), "autosize": object{"type": "fit-x", "contains": "padding"},
		// names of settings stick out
		"padding": object{"left": 5, "top": 5, "right": 5 + 12*btoi(f.labelled()), "bottom": 5},
	}
}

// nonempty returns s, or nil where it is empty.
func nonempty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// digits returns a number with six digits, or nil where there is none.
func digits(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return int64(v)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return short
}

// params returns the controls that choose settings.
func (f vegaFigure) params() []object {
	all := []object{}
	for i, k := range f.Keys {
		options, labels := []any{nil}, []string{"all"}
		for _, v := range k.Values {
			options, labels = append(options, v), append(labels, v)
		}
		all = append(all, object{
			"name": "k" + strconv.Itoa(i), "value": nonempty(k.Chosen),
			"bind": object{"input": "select", "options": options, "labels": labels, "name": k.Name + " "},
		})
	}
	return all
}

// chosen returns the expression that is true for what is shown.
func (f vegaFigure) chosen() string {
	parts := []string{"true"}
	for i := range f.Keys {
		k := "k" + strconv.Itoa(i)
		parts = append(parts, fmt.Sprintf("(!isValid(%s) || !isValid(datum.%s) || datum.%s == %s)", k, k, k, k))
	}
	return strings.Join(parts, " && ")
}

func (f vegaFigure) layers() []object {
	chosen := f.chosen()
	joined := chosen + " && !datum.open && datum.mark != '" + Model + "'"
	if f.Loose {
		joined += " && datum.mark != '" + Measured + "'"
	}
	x, y := channel("x", f.X), channel("y", f.Y)
	base := func(more object) object {
		e := object{"x": x, "y": y, "color": f.colour(), "detail": []object{{"field": "series", "type": "nominal"}}}
		for k, v := range more {
			e[k] = v
		}
		return e
	}
	layer := func(filter string, mark, encoding object) object {
		return object{"transform": []object{{"filter": filter}}, "mark": mark, "encoding": encoding}
	}
	var all []object
	interval := object{"y": with(y, "field", "low"), "y2": object{"field": "high"}}
	switch {
	case f.Band:
		if f.Target > 0 {
			all = append(all, object{"data": object{"values": []object{{"y": f.Target}}},
				"mark": object{"type": "rule", "strokeDash": dashes[Proved], "opacity": 0.6}, "encoding": object{"y": y}})
		}
		all = append(all, layer(chosen, object{"type": "area", "opacity": 0.15}, base(interval)))
	case len(f.Keys) > 0 && !f.Loose:
		faint := "datum.mark == '" + Measured + "' && !datum.open && !(" + chosen + ")"
		all = append(all, layer(faint, object{"type": "line", "opacity": 0.22, "strokeWidth": 1}, base(nil)))
	}
	all = append(all, layer(joined, object{"type": "line", "strokeWidth": 1.6}, base(object{"strokeDash": f.dash()})))
	if !f.Band {
		bracket := chosen + " && !datum.level && isValid(datum.low) && isValid(datum.high) && datum.mark == "
		all = append(all, layer(bracket+"'"+Measured+"'", object{"type": "rule", "strokeWidth": 1.6}, base(interval)))
		if f.has(Model) {
			all = append(all, layer(bracket+"'"+Model+"'", object{"type": "rule", "strokeWidth": 8, "opacity": 0.35},
				base(interval)))
		}
	}
	bounds := chosen + " && !datum.level && datum.mark != '" + Measured + "' && datum.mark != '" + Model +
		"' && datum.mark != '" + Fit + "'"
	if f.Loose { // nothing joins them: a short stroke each
		all = append(all, layer(bounds, object{"type": "point", "shape": "stroke", "size": 300, "opacity": 1,
			"strokeWidth": 1.6}, base(object{"strokeDash": f.dash(), "tooltip": f.tooltip()})))
	} else {
		all = append(all, layer(bounds, object{"type": "point", "filled": true, "size": 14, "opacity": 0.9},
			base(object{"shape": f.shape(), "tooltip": f.tooltip()})))
	}
	points := base(object{
		"shape": f.shape(), "tooltip": f.tooltip(), "fill": f.colour(),
		"fillOpacity": object{"condition": object{"test": "isValid(datum.open)", "value": 0}, "value": 1},
	})
	all = append(all, layer(chosen+" && !datum.level && datum.mark == '"+Measured+"'",
		object{"type": "point", "filled": false, "size": 44, "strokeWidth": 1.4, "opacity": 1}, points))
	if f.has(Model) {
		all = append(all, layer(chosen+" && datum.mark == '"+Model+"'", object{"type": "point", "shape": "stroke",
			"size": 180, "strokeWidth": 2, "opacity": 1}, base(object{"tooltip": f.tooltip()})))
	}
	if f.labelled() {
		mark := object{"type": "text", "align": "left", "dx": 8, "fontSize": 10.5, "text": object{"expr": "datum.label"}}
		all = append(all, layer(chosen+" && isValid(datum.label)", mark, object{"x": x, "y": y}))
	}
	for _, at := range []struct { // the value lies beyond the point
		status, arrow string
		dy            int
	}{{"above_range", "↑", -12}, {"below_range", "↓", 13}} {
		all = append(all, layer(chosen+" && datum.open == '"+at.status+"'", object{"type": "text", "text": at.arrow,
			"dy": at.dy, "fontSize": 14, "fontWeight": "bold"}, base(nil)))
	}
	return all
}

func with(o object, key string, value any) object {
	out := object{key: value}
	for k, v := range o {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// has reports whether a series has the mark.
func (f *Figure) has(mark string) bool {
	for _, s := range f.Series {
		if s.Mark == mark {
			return true
		}
	}
	return false
}

// channel returns an axis with its limits and ticks, so that both renderers show the same.
func channel(field string, a Axis) object {
	scale := object{"domain": []float64{a.Low, a.High}, "nice": false}
	if a.Log {
		scale["type"] = "log"
	} else {
		scale["zero"] = false
	}
	var values []float64
	label := "''"
	for i := len(a.Ticks) - 1; i >= 0; i-- {
		t := a.Ticks[i]
		values = append(values, t.At)
		name, _ := json.Marshal(t.Label) // a string always can
		label = fmt.Sprintf("abs(datum.value - %s) <= %s ? %s : %s", number17(t.At), number17(1e-9*math.Abs(t.At)), name,
			label)
	}
	guide := object{"title": a.Title, "values": values, "labelExpr": label, "labelOverlap": true}
	if a.Title == "" {
		guide["title"], guide["labelAngle"], guide["labelLimit"], guide["grid"], guide["labelOverlap"] = nil, -30, 140,
			false, false
	}
	return object{"field": field, "type": "quantitative", "scale": scale, "axis": guide}
}

func number17(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// legend returns the names of the colours with these, or with their shapes.
func (f vegaFigure) legend(of func(int) string) object {
	values := make([]string, len(f.Colours))
	for i := range values {
		values[i] = of(i)
	}
	return object{"field": "colour", "type": "nominal", "title": nil,
		"scale": object{"domain": f.Colours, "range": values}}
}

func (f vegaFigure) colour() object { return f.legend(colour) }
func (f vegaFigure) shape() object  { return f.legend(shape) }

func (f vegaFigure) dash() object {
	var domain []string
	var values [][]float64
	for _, m := range marks {
		if f.has(m) && m != Model {
			domain, values = append(domain, m), append(values, dashes[m])
		}
	}
	o := object{"field": "mark", "type": "nominal", "title": nil, "scale": object{"domain": domain, "range": values}}
	o["legend"] = object{"orient": "top", "symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 1.6}
	if len(domain) < 2 {
		o["legend"] = nil
	}
	return o
}

func (f vegaFigure) tooltip() []object {
	text := func(field, title string) object { return object{"field": field, "type": "nominal", "title": title} }
	number := func(field, title string) object {
		return object{"field": field, "type": "quantitative", "title": title, "format": ".4~g"}
	}
	all := []object{text("colour", f.By), text("mark", "what")}
	for i, k := range f.Keys {
		all = append(all, text("k"+strconv.Itoa(i), k.Name))
	}
	if f.X.Title != "" {
		all = append(all, number("x", f.X.Title))
	}
	return append(all, number("y", f.Y.Title), number("low", "from"), number("high", "to"), text("open", "status"),
		text("cell", "cell"))
}
