package report

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The sizes of the text in figures for papers.
const (
	textSize    = vg.Length(7)
	captionSize = vg.Length(6)
)

// palette holds colours that are readable on white and on nearly black (contrast 3:1 at least) and
// distinct to the colour-blind. Shapes repeat the distinction.
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

// SVG writes the figure as SVG; width is in inches. Points have tooltips. Its text names the font
// Liberation Sans, and Arial and Helvetica, which have the same widths, in case it is not installed.
func (f *Figure) SVG(w io.Writer, width float64) error {
	var b bytes.Buffer
	c := vgsvg.New(f.size(width))
	tips := f.draw(draw.New(c))
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	end := bytes.LastIndex(svg, []byte("</g>")) // of the group whose y axis points up
	out := bytes.NewBuffer(slices.Clone(svg[:end]))
	for _, t := range tips {
		fmt.Fprintf(out, `<circle cx="%.2f" cy="%.2f" r="4" fill-opacity="0"><title>%s</title></circle>`+"\n",
			t.at.X.Points(), t.at.Y.Points(), html.EscapeString(t.text))
	}
	out.Write(svg[end:])
	_, err := out.WriteTo(w)
	return err
}

// pageWidth is the width in inches for which figures on the page are drawn; the page scales them.
const pageWidth = 5

// pageColours replaces the colours of paper by those of the page, which depend on light and dark.
var pageColours = strings.NewReplacer("#000000", "currentColor", "#FFFFFF", "var(--bg)", "#E1E1E1", "var(--line)",
	"#5A5A5A", "var(--soft)")

// inline returns the figure as an element of the page, which shows title and caption itself.
func (f *Figure) inline() (template.HTML, error) {
	plain := *f
	plain.Title, plain.Caption = "", nil
	var b strings.Builder
	if err := plain.SVG(&b, pageWidth); err != nil {
		return "", err
	}
	_, svg, _ := strings.Cut(b.String(), "<svg") // after the XML declaration
	return template.HTML(pageColours.Replace("<svg" + svg)), nil
}

// PNG writes the figure as PNG with 300 dots per inch; width is in inches.
func (f *Figure) PNG(w io.Writer, width float64) error {
	x, y := f.size(width)
	c := vgimg.NewWith(vgimg.UseWH(x, y), vgimg.UseDPI(300))
	f.draw(draw.New(c))
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	return nil
}

// dates matches the dates in a PDF. PDF replaces them by one of the same length, so that the same
// figure has the same bytes at any time.
var dates = regexp.MustCompile(`/(Creation|Mod)Date \(D:\d{14}\)`)

// PDF writes the figure as PDF with its font embedded; width is in inches.
func (f *Figure) PDF(w io.Writer, width float64) error {
	var b bytes.Buffer
	c := vgpdf.New(f.size(width))
	f.draw(draw.New(c))
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	_, err := w.Write(dates.ReplaceAll(b.Bytes(), []byte("/${1}Date (D:20000101000000)")))
	return err
}

// size returns a figure's width and height: the plot is three quarters as high as wide; the title
// stands above it, the legend and the caption below.
func (f *Figure) size(inches float64) (width, height vg.Length) {
	width = vg.Length(inches) * vg.Inch
	return width, f.titleHeight(width) + 0.72*width + f.legendHeight(width) + f.captionHeight(width)
}

// margin is the space on either side of title and caption.
const margin = 4

func (f *Figure) titleHeight(width vg.Length) vg.Length {
	return lineHeight * vg.Length(len(wrap(f.Title, textSize, width-2*margin)))
}

func (f *Figure) captionHeight(width vg.Length) vg.Length {
	return 1.3*captionSize*vg.Length(len(f.captionLines(width))) + 1
}

func (f *Figure) captionLines(width vg.Length) []string {
	return wrap(strings.Join(f.Caption, " "), captionSize, width-2*margin)
}

// wrap breaks a text at spaces into lines that are as wide as there is room, where their words are.
func wrap(s string, size, width vg.Length) (lines []string) {
	for _, word := range strings.Fields(s) {
		if last := len(lines) - 1; last >= 0 && styleOf(size).Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// entry is an item of the legend.
type entry struct {
	text string
	draw func(c draw.Canvas)
}

const lineHeight = 1.35 * textSize

// columns returns the number of items of the legend that stand beside each other.
func (f *Figure) columns(width vg.Length) int {
	longest := vg.Length(0)
	for _, e := range f.entries() {
		longest = max(longest, style().Width(e.text))
	}
	return max(1, int((width-4)/(longest+30)))
}

func (f *Figure) legendHeight(width vg.Length) vg.Length {
	columns := f.columns(width)
	return lineHeight*vg.Length((len(f.entries())+columns-1)/columns) + 4
}

func style() draw.TextStyle { return styleOf(textSize) }

func styleOf(size vg.Length) draw.TextStyle {
	p := plot.New()
	s := p.Legend.TextStyle
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	return s
}

// draw draws the figure and returns the tooltips of its points.
func (f *Figure) draw(c draw.Canvas) []tip {
	p := f.plot()
	width := c.Max.X - c.Min.X
	title, caption := f.titleHeight(width), f.captionHeight(width)
	legend := f.legendHeight(width) + caption
	for i, text := range wrap(f.Title, textSize, width-2*margin) {
		c.FillText(style(), vg.Point{X: c.Min.X + margin, Y: c.Max.Y - lineHeight*vg.Length(i+1) + 1}, text)
	}
	for i, text := range f.captionLines(width) {
		c.FillText(styleOf(captionSize), vg.Point{X: c.Min.X + margin, Y: c.Min.Y + caption - 1.3*captionSize*vg.Length(i+1)},
			text)
	}
	tips := f.drawPlot(p, draw.Crop(c, 2, -margin, legend+2, -title-3))
	columns := f.columns(width)
	wide := (width - margin) / vg.Length(columns)
	for i, e := range f.entries() {
		x, y := c.Min.X+margin+wide*vg.Length(i%columns), c.Min.Y+legend-lineHeight*vg.Length(i/columns+1)+2
		e.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y},
			Max: vg.Point{X: x + 18, Y: y + textSize}}})
		c.FillText(style(), vg.Point{X: x + 22, Y: y + 0.15*textSize}, e.text)
	}
	return tips
}

// drawPlot draws the plot with the titles of its axes and returns the tooltips of its points. The
// library would leave more space on a logarithmic axis for longer titles.
func (f *Figure) drawPlot(p *plot.Plot, c draw.Canvas) (tips []tip) {
	inner := draw.Crop(c, lineHeight, 0, lineHeight*vg.Length(btoi(f.X.Title != "")), 0)
	p.Draw(inner)
	data := p.DataCanvas(inner)
	middle := data.Center()
	s := style()
	s.XAlign = draw.XCenter
	c.FillText(s, vg.Point{X: middle.X, Y: c.Min.Y + 2}, f.X.Title)
	s.Rotation = math.Pi / 2
	c.FillText(s, vg.Point{X: c.Min.X + textSize, Y: middle.Y}, f.Y.Title)
	x, y := p.Transforms(&data)
	for _, s := range f.Series {
		if !f.shown(s) || s.Level || s.Mark == Fit {
			continue
		}
		for _, q := range s.Points {
			if q.X == q.X && q.Y == q.Y {
				tips = append(tips, tip{vg.Point{X: x(q.X), Y: y(q.Y)}, f.tooltip(s, q)})
			}
		}
	}
	return tips
}

// A tip is the tooltip of a point.
type tip struct {
	at   vg.Point
	text string
}

// tooltip describes a point, one fact per line.
func (f *Figure) tooltip(s Series, p Point) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	lines := []string{s.Algorithm + ", " + s.Mark}
	for i, k := range f.Keys {
		if s.Keys[i] != "" {
			lines = append(lines, k.Name+": "+s.Keys[i])
		}
	}
	if f.X.Title != "" {
		lines = append(lines, f.X.Title+": "+number(p.X))
	}
	value := f.Y.Title + ": " + number(p.Y)
	if p.Low == p.Low && p.High == p.High {
		value += " (" + number(p.Low) + " to " + number(p.High) + ")"
	}
	lines = append(lines, value)
	if p.Open != "" {
		lines = append(lines, "status: "+p.Open)
	}
	if p.Cell != "" {
		lines = append(lines, "cell: "+p.Cell)
	}
	return strings.Join(lines, "\n")
}

// has reports whether a series has the mark.
func (f *Figure) has(mark string) bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool { return s.Mark == mark })
}

// entries returns the items of the legend: the colours that are shown, and the marks where there
// are several.
func (f *Figure) entries() (all []entry) {
	for i, name := range f.Colours {
		if slices.ContainsFunc(f.Series, func(s Series) bool { return s.Colour == i && f.shown(s) }) {
			all = append(all, entry{name, func(c draw.Canvas) {
				at := vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}
				c.StrokeLine2(line(ink(i), 1, nil), c.Min.X, at.Y, c.Max.X, at.Y)
				c.DrawGlyph(draw.GlyphStyle{Color: ink(i), Radius: 2, Shape: glyph{shape(i), false}}, at)
			}})
		}
	}
	for _, mark := range marks {
		if mark == Measured || !f.has(mark) {
			continue
		}
		all = append(all, entry{mark, func(c draw.Canvas) {
			y := (c.Min.Y + c.Max.Y) / 2
			if mark == Model {
				c.StrokeLine2(line(pale(color.Black), 4, nil), c.Min.X, y, c.Max.X, y)
			} else {
				c.StrokeLine2(line(color.Black, 0.8, dashes[mark]), c.Min.X, y, c.Max.X, y)
			}
		}})
	}
	return all
}

// plot draws the series in the order of marks from last to first, so that what is measured lies on
// top.
func (f *Figure) plot() *plot.Plot {
	p := plot.New()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.X.Low, f.X.High, f.Y.Low, f.Y.High
	scale(&p.X, f.X)
	scale(&p.Y, f.Y)
	if f.X.Title == "" { // names stand along it
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	}
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal = line(color.Gray{225}, 0.3, nil), line(color.Gray{225}, 0.3, nil)
	p.Add(grid)
	if f.Target > 0 {
		p.Add(stroke([]Point{{X: f.X.Low, Y: f.Target}, {X: f.X.High, Y: f.Target}},
			line(color.Gray{90}, 0.6, dashes[Proved])))
	}
	for _, s := range f.Series {
		if f.faint(s) {
			p.Add(stroke(joined(s), line(faint(ink(s.Colour)), 0.4, nil)))
		}
	}
	for _, mark := range slices.Backward(marks) {
		for _, s := range f.Series {
			if s.Mark == mark && f.shown(s) {
				f.add(p, s)
			}
		}
	}
	return p
}

func (f *Figure) add(p *plot.Plot, s Series) {
	c := ink(s.Colour)
	switch {
	case s.Mark == Model:
		for _, q := range s.Points {
			p.Add(stroke([]Point{{X: q.X, Y: q.Low}, {X: q.X, Y: q.High}}, line(pale(c), 4, nil)))
		}
		p.Add(points(s, draw.GlyphStyle{Color: c, Radius: 3.5, Shape: glyph{Model, false}}, func(Point) bool { return true }))
		return
	case f.Loose && s.Mark != Measured:
		p.Add(points(s, draw.GlyphStyle{Color: c, Radius: 5.6, Shape: glyph{s.Mark, false}},
			func(Point) bool { return true }))
		return
	case f.Band:
		p.Add(band(s.Points, faint(c)))
	}
	if !f.Loose {
		p.Add(stroke(joined(s), line(c, 0.8, dashes[s.Mark])))
	}
	if s.Mark != Measured || s.Level {
		return
	}
	for _, q := range s.Points {
		if !f.Band {
			p.Add(stroke([]Point{{X: q.X, Y: q.Low}, {X: q.X, Y: q.High}}, line(c, 0.9, nil)))
		}
	}
	p.Add(labels(s))
	p.Add(points(s, draw.GlyphStyle{Color: c, Radius: 2, Shape: glyph{shape(s.Colour), false}},
		func(q Point) bool { return q.Open == "" }),
		points(s, draw.GlyphStyle{Color: c, Radius: 2, Shape: glyph{shape(s.Colour), true}},
			func(q Point) bool { return q.Open != "" }),
		points(s, draw.GlyphStyle{Color: c, Radius: 4, Shape: glyph{"above_range", true}},
			func(q Point) bool { return q.Open == "above_range" }),
		points(s, draw.GlyphStyle{Color: c, Radius: 4, Shape: glyph{"below_range", true}},
			func(q Point) bool { return q.Open == "below_range" }))
}

// joined returns the points that a line goes through.
func joined(s Series) []Point {
	return slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.Open != "" })
}

func scale(to *plot.Axis, a Axis) {
	s := style()
	to.Tick.Label.Font = s.Font
	to.LineStyle.Width, to.Tick.LineStyle.Width, to.Tick.Length, to.Padding = 0.5, 0.5, 3, 0
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(a.Ticks))
	for i, t := range a.Ticks {
		ticks[i] = plot.Tick{Value: t.At, Label: t.Label}
	}
	to.Tick.Marker = ticks
}

func ink(i int) color.Color {
	v, _ := strconv.ParseUint(colour(i)[1:], 16, 32) // of the palette
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

func pale(c color.Color) color.Color  { return alpha(c, 90) }
func faint(c color.Color) color.Color { return alpha(c, 50) }

func alpha(c color.Color, a uint8) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = a
	return n
}

func line(c color.Color, width vg.Length, dash []float64) draw.LineStyle {
	s := draw.LineStyle{Color: c, Width: width}
	if len(dash) > 0 && dash[1] > 0 {
		for _, length := range dash {
			s.Dashes = append(s.Dashes, vg.Length(0.7*length))
		}
	}
	return s
}

// drawn returns points in the plotter's form, without those that have no place.
func drawn(points []Point) (xy plotter.XYs) {
	for _, p := range points {
		if p.X == p.X && p.Y == p.Y {
			xy = append(xy, plotter.XY{X: p.X, Y: p.Y})
		}
	}
	return xy
}

func stroke(points []Point, s draw.LineStyle) plot.Plotter {
	return &plotter.Line{XYs: drawn(points), LineStyle: s}
}

func points(s Series, style draw.GlyphStyle, which func(Point) bool) plot.Plotter {
	return &plotter.Scatter{XYs: drawn(slices.DeleteFunc(slices.Clone(s.Points),
		func(p Point) bool { return !which(p) })), GlyphStyle: style}
}

// labels returns a plotter of the names beside points.
func labels(s Series) plot.Plotter {
	all := &plotter.Labels{Offset: vg.Point{X: 4, Y: -0.3 * textSize}}
	for _, p := range s.Points {
		if p.Label != "" {
			all.XYs, all.Labels, all.TextStyle = append(all.XYs, plotter.XY{X: p.X, Y: p.Y}), append(all.Labels, p.Label),
				append(all.TextStyle, style())
		}
	}
	return all
}

// band returns a plotter of the area between the ends of the intervals.
func band(points []Point, c color.Color) plot.Plotter {
	var xy plotter.XYs
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return math.IsNaN(p.Low) || math.IsNaN(p.High) })
	for _, p := range points {
		xy = append(xy, plotter.XY{X: p.X, Y: p.Low})
	}
	for _, p := range slices.Backward(points) {
		xy = append(xy, plotter.XY{X: p.X, Y: p.High})
	}
	return &plotter.Polygon{XYs: []plotter.XYs{xy}, Color: c}
}

// glyph draws a point: one of the shapes, hollow where it is open; a short stroke for a bound; or
// an arrow.
type glyph struct {
	name string
	open bool
}

// outlines holds the shapes, but for the circle, within the unit square, and the strokes.
var outlines = map[string][][2]float64{
	"square": {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}, "diamond": {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}},
	"triangle-up": {{-1.2, -1}, {1.2, -1}, {0, 1.2}}, "triangle-down": {{-1.2, 1}, {1.2, 1}, {0, -1.2}},
	"triangle-right": {{-1, -1.2}, {1.2, 0}, {-1, 1.2}}, "triangle-left": {{1, -1.2}, {-1.2, 0}, {1, 1.2}},
	"cross": {{-.4, -1.2}, {.4, -1.2}, {.4, -.4}, {1.2, -.4}, {1.2, .4}, {.4, .4}, {.4, 1.2}, {-.4, 1.2}, {-.4, .4},
		{-1.2, .4}, {-1.2, -.4}, {-.4, -.4}},
	Proved: {{-1, 0}, {1, 0}}, Declared: {{-1, 0}, {1, 0}}, Printed: {{-1, 0}, {1, 0}}, Model: {{-1, 0}, {1, 0}},
	"above_range": {{0, .8}, {0, 2.4}, {-.5, 1.7}, {0, 2.4}, {.5, 1.7}}, "below_range": {{0, -.8}, {0, -2.4}, {-.5, -1.7},
		{0, -2.4}, {.5, -1.7}},
}

// DrawGlyph implements draw.GlyphDrawer.
func (g glyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	outline := outlines[g.name]
	for i, o := range outline {
		to := vg.Point{X: at.X + vg.Length(o[0])*sty.Radius, Y: at.Y + vg.Length(o[1])*sty.Radius}
		if i == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	if outline == nil {
		path.Move(vg.Point{X: at.X + sty.Radius, Y: at.Y})
		path.Arc(at, sty.Radius, 0, 2*math.Pi)
	}
	strokes := g.name == "above_range" || g.name == "below_range" || slices.Contains(marks, g.name)
	if !strokes {
		path.Close()
	}
	c.SetLineStyle(line(sty.Color, 0.8, dashes[g.name]))
	switch {
	case strokes:
		c.Stroke(path)
	case g.open:
		c.SetColor(color.White)
		c.Fill(path)
		c.SetColor(sty.Color)
		c.Stroke(path)
	default:
		c.SetColor(sty.Color)
		c.Fill(path)
	}
}
