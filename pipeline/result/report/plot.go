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

// Sizes of texts and margins.
const (
	textSize   = vg.Length(7)
	lineHeight = 1.35 * textSize
	margin     = vg.Length(4)
)

// palette holds a color for each of maxLines lines. They are readable on white and on nearly black
// (contrast at least 3:1), and the first eight are distinct for color-blind readers. Shapes repeat
// the distinction.
var palette = []string{
	"#2A7FBF", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#8A63D2", "#7A7A7A", "#2E9BB5",
	"#D1435B", "#6B8E23", "#A0522D", "#C44FC4",
}

// Shapes of decided and of undecided points.
var (
	filled = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{},
		diamond{(*draw.Canvas).Fill}}
	hollow = []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{},
		diamond{(*draw.Canvas).Stroke}}
)

// A diamond is a shape that the library lacks.
type diamond struct{ draw func(*draw.Canvas, vg.Path) }

// DrawGlyph implements [draw.GlyphDrawer].
func (d diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: vg.Points(0.5)})
	r := 1.25 * s.Radius
	var p vg.Path
	p.Move(vg.Point{X: at.X, Y: at.Y + r})
	p.Line(vg.Point{X: at.X - r, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y - r})
	p.Line(vg.Point{X: at.X + r, Y: at.Y})
	p.Close()
	d.draw(c, p)
}

// dashes holds the dash pattern of the bounds of each mark.
var dashes = map[string][]vg.Length{Proved: {4, 3}, Declared: {6, 2}, Printed: {1, 2}}

// SVG writes the figure as SVG; width is in inches. Points have tooltips. The font is Liberation
// Sans, with Arial and Helvetica, which have the same widths, as fallbacks.
func (f *Figure) SVG(w io.Writer, width float64) error {
	var b bytes.Buffer
	c := vgsvg.New(f.size(width))
	tips := f.draw(draw.New(c))
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	end := bytes.LastIndex(svg, []byte("</g>")) // end of the group whose y axis points up
	out := bytes.NewBuffer(slices.Clone(svg[:end]))
	for _, t := range tips {
		fmt.Fprintf(out, `<circle cx="%.2f" cy="%.2f" r="4" fill-opacity="0"><title>%s</title></circle>`+"\n",
			t.at.X.Points(), t.at.Y.Points(), html.EscapeString(t.text))
	}
	out.Write(svg[end:])
	_, err := out.WriteTo(w)
	return err
}

// pageWidth is the width in inches for which the page's figures are drawn; the page scales them.
const pageWidth = 5

// pageColors replaces the colors for paper by the page's colors, which depend on light and dark
// mode.
var pageColors = strings.NewReplacer("#000000", "currentColor", "#E1E1E1", "var(--line)", "#5A5A5A", "var(--soft)")

// Text returns the title and the caption, for the caption in a paper.
func (f *Figure) Text() string { return f.Title + ". " + strings.Join(f.Caption, " ") + "\n" }

// inline returns the figure as an element of the page.
func (f *Figure) inline() (template.HTML, error) {
	var b strings.Builder
	if err := f.SVG(&b, pageWidth); err != nil {
		return "", err
	}
	_, svg, _ := strings.Cut(b.String(), "<svg") // skips the XML declaration
	svg = fontStyle.ReplaceAllString(pageColors.Replace("<svg"+svg), "")
	short := strings.NewReplacer(` fill-opacity="0"`, "", "\n"+html.EscapeString(f.X.Title)+": ", "\n",
		"\n"+html.EscapeString(f.Y.Title)+": ", "\n")
	return template.HTML(joinPaths(short.Replace(svg))), nil
}

// fontStyle matches the style of texts, which the page's style sheet replaces.
var fontStyle = regexp.MustCompile(`\s*style="font-family:[^"]*"`)

// pathLine matches a path in the output of vgsvg; digits matches digits that are too small to see.
var (
	pathLine = regexp.MustCompile(`^<path d="([^"]*)" style="([^"]*)" />$`)
	digits   = regexp.MustCompile(`(\.\d)\d+`)
)

// joinPaths replaces consecutive paths of one style by one path, which makes a page much smaller.
func joinPaths(svg string) string {
	var b strings.Builder
	var d, style string
	flush := func() {
		if d != "" {
			fmt.Fprintf(&b, "<path d=\"%s\" style=\"%s\"/>\n", digits.ReplaceAllString(d, "$1"), style)
		}
		d = ""
	}
	for line := range strings.Lines(svg) {
		m := pathLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[2] != style {
			flush()
		}
		if m == nil {
			b.WriteString(line)
			continue
		}
		d, style = d+m[1], m[2]
	}
	flush()
	return b.String()
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

// dates matches the dates in a PDF. The method PDF replaces them by a fixed date of the same
// length, so that a figure always has the same bytes.
var dates = regexp.MustCompile(`/(Creation|Mod)Date \(D:\d{14}\)`)

// PDF writes the figure as PDF with its font embedded; width is in inches.
func (f *Figure) PDF(w io.Writer, width float64) error {
	var b bytes.Buffer
	c := outlines{vgpdf.New(f.size(width))}
	f.draw(draw.New(c))
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("write figure %s: %w", f.Name, err)
	}
	_, err := w.Write(dates.ReplaceAll(b.Bytes(), []byte("/${1}Date (D:20000101000000)")))
	return err
}

// A layout holds the legend, which is below the plot.
type layout struct {
	legend           []entry
	columns          int // number of columns of the legend
	height, colWidth vg.Length
}

func (f *Figure) layout(width vg.Length) layout {
	l := layout{legend: f.entries()}
	longest := vg.Length(0)
	for _, e := range l.legend {
		longest = max(longest, style(textSize).Width(e.text))
	}
	l.columns = max(1, int((width-margin)/(longest+30)))
	l.colWidth = (width - margin) / vg.Length(l.columns)
	l.height = lineHeight*vg.Length((len(l.legend)+l.columns-1)/l.columns) + margin
	return l
}

// size returns a figure's width and height: the plot is three quarters as high as a column is wide,
// and at most 3 inches high.
func (f *Figure) size(inches float64) (width, height vg.Length) {
	width = vg.Length(inches) * vg.Inch
	return width, min(0.72*width, max(3*vg.Inch, 0.45*width)) + f.layout(width).height
}

func style(size vg.Length) draw.TextStyle {
	s := plot.New().Legend.TextStyle
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	return s
}

// draw draws the figure and returns the tooltips of its points.
func (f *Figure) draw(c draw.Canvas) []tip {
	l := f.layout(c.Max.X - c.Min.X)
	for i, e := range l.legend {
		x := c.Min.X + margin + l.colWidth*vg.Length(i%l.columns)
		y := c.Min.Y + l.height - lineHeight*vg.Length(i/l.columns+1) + 2
		e.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y},
			Max: vg.Point{X: x + 18, Y: y + textSize}}})
		c.FillText(style(textSize), vg.Point{X: x + 22, Y: y + 0.15*textSize}, e.text)
	}
	return f.drawPlot(draw.Crop(c, 2, -margin, l.height+2, -3))
}

// drawPlot draws the plot and the titles of its axes, because the library would leave too much
// space for them on a logarithmic axis. It returns the tooltips of the points.
func (f *Figure) drawPlot(c draw.Canvas) (tips []tip) {
	p := f.plot()
	below := lineHeight
	if f.X.Title == "" {
		below = 0
	}
	inner := draw.Crop(c, lineHeight, 0, below, 0)
	p.Draw(inner)
	data := p.DataCanvas(inner)
	middle := data.Center()
	s := style(textSize)
	s.XAlign = draw.XCenter
	c.FillText(s, vg.Point{X: middle.X, Y: c.Min.Y + 2}, greek(f.X.Title))
	s.Rotation = math.Pi / 2
	c.FillText(s, vg.Point{X: c.Min.X + textSize, Y: middle.Y}, greek(f.Y.Title))
	x, y := p.Transforms(&data)
	for _, l := range f.Lines {
		if l.Level {
			continue
		}
		for _, q := range drawn(l.Points) {
			tips = append(tips, tip{vg.Point{X: x(q.X), Y: y(q.Y)}, f.tooltip(l.Name, q)})
		}
		for _, mark := range marks {
			for _, q := range drawn(l.Bounds[mark]) {
				tips = append(tips, tip{vg.Point{X: x(q.X), Y: y(q.Y)}, f.tooltip(l.Name+", "+mark, q)})
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
func (f *Figure) tooltip(name string, p Point) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	lines := []string{name}
	if f.X.Title != "" {
		lines = append(lines, f.X.Title+": "+number(p.X))
	}
	value := f.Y.Title + ": " + number(p.Y)
	if p.Open == "" && !math.IsNaN(p.Low) && !math.IsNaN(p.High) {
		value += " (" + number(p.Low) + " to " + number(p.High) + ")"
	}
	lines = append(lines, value)
	if p.Open != "" {
		lines = append(lines, "status: "+p.Open)
	}
	return strings.Join(append(lines, "cell: "+p.Cell), "\n")
}

// An entry is an item of the legend.
type entry struct {
	text string
	draw func(c draw.Canvas)
}

// entries returns the items of the legend: the lines, then the marks of bounds.
func (f *Figure) entries() (all []entry) {
	defer func() {
		for i := range all {
			all[i].text = greek(all[i].text)
		}
	}()
	for i, l := range f.Lines {
		if l.Name == "" {
			continue
		}
		all = append(all, entry{l.Name, func(c draw.Canvas) {
			at, shapes, decided := c.Center(), hollow, 0
			for _, q := range l.Points {
				if q.Open == "" {
					shapes, decided = filled, decided+1
				}
			}
			line := draw.LineStyle{Color: ink(i), Width: 1}
			if len(l.Points) == 0 { // only a bound is drawn
				line.Dashes = dashes[Proved]
			}
			if len(l.Points) == 0 || l.Level || decided > 1 && !f.Loose {
				c.StrokeLine2(line, c.Min.X, at.Y, c.Max.X, at.Y)
			}
			if len(l.Points) > 0 && !l.Level {
				c.DrawGlyph(glyph(i, shapes), at)
			}
		}})
	}
	level := func(name string, s draw.LineStyle) {
		all = append(all, entry{name, func(c draw.Canvas) { c.StrokeLine2(s, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y) }})
	}
	for _, mark := range marks {
		if slices.ContainsFunc(f.Lines, func(l Line) bool { return len(l.Bounds[mark]) > 0 }) {
			level(mark, draw.LineStyle{Color: color.Black, Width: 0.8, Dashes: dashes[mark]})
		}
	}
	for i, l := range f.Levels {
		level(l.Name, levelStyle(i))
	}
	return all
}

// levelStyle returns the style of a level: dashed, or dotted for the second.
func levelStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: color.Gray{90}, Width: 0.6, Dashes: [][]vg.Length{{4, 3}, {1, 2}}[i%2]}
}

// plot draws bounds first, so that measured points are on top.
func (f *Figure) plot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the page may be dark
	setAxis(&p.X, f.X)
	setAxis(&p.Y, f.Y)
	if f.X.Title == "" { // names are along this axis
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	}
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: color.Gray{225}, Width: 0.3}
	grid.Horizontal = grid.Vertical
	p.Add(grid)
	for i, l := range f.Levels {
		p.Add(stroke([]Point{{X: f.X.Low, Y: l.Y}, {X: f.X.High, Y: l.Y}}, levelStyle(i)))
	}
	for i, l := range f.Lines {
		for _, mark := range marks {
			s := draw.LineStyle{Color: ink(i), Width: 0.8, Dashes: dashes[mark]}
			if !f.Loose {
				p.Add(stroke(l.Bounds[mark], s))
				continue
			}
			half := 0.35 / float64(len(f.Lines)) // a short horizontal stroke at the cell's position
			for _, q := range l.Bounds[mark] {
				p.Add(stroke([]Point{{X: q.X - half, Y: q.Y}, {X: q.X + half, Y: q.Y}}, s))
			}
		}
	}
	for i, l := range f.Lines {
		f.add(p, i, l)
	}
	return p
}

// add draws the measured points of a line. The line does not pass through undecided points.
func (f *Figure) add(p *plot.Plot, i int, l Line) {
	decided := func(q Point) bool { return q.Open == "" }
	undecided := func(q Point) bool { return q.Open != "" }
	s := draw.LineStyle{Color: ink(i), Width: 0.8}
	if !f.Loose {
		p.Add(stroke(slices.DeleteFunc(slices.Clone(l.Points), undecided), s))
	}
	if l.Level {
		return
	}
	if f.Faint {
		s.Color = pale(ink(i))
	}
	for _, q := range l.Points {
		if !math.IsNaN(q.Low) && !math.IsNaN(q.High) {
			p.Add(stroke([]Point{{X: q.X, Y: q.Low}, {X: q.X, Y: q.High}}, s))
		}
	}
	p.Add(&plotter.Scatter{XYs: xys(slices.DeleteFunc(slices.Clone(l.Points), undecided)), GlyphStyle: glyph(i, filled)},
		&plotter.Scatter{XYs: xys(slices.DeleteFunc(slices.Clone(l.Points), decided)), GlyphStyle: glyph(i, hollow)})
}

func setAxis(to *plot.Axis, a Axis) {
	to.Min, to.Max = a.Low, a.High
	to.Tick.Label.Font = style(textSize).Font
	to.LineStyle.Width, to.Tick.LineStyle.Width, to.Tick.Length, to.Padding = 0.5, 0.5, 3, 0
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	to.Tick.Marker = plot.ConstantTicks(a.Ticks)
}

func ink(i int) color.NRGBA {
	v, _ := strconv.ParseUint(palette[i%len(palette)][1:], 16, 32) // the palette contains only numbers
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// pale returns a color mixed with white. Not every reader of PDF shows a color with transparency.
func pale(c color.NRGBA) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(255 - (255-int(v))*2/5) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// glyph returns the style of the points of line i.
func glyph(i int, shapes []draw.GlyphDrawer) draw.GlyphStyle {
	return draw.GlyphStyle{Color: ink(i), Radius: 2.2, Shape: shapes[i%len(shapes)]}
}

// drawn returns the points with finite coordinates.
func drawn(points []Point) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return math.IsNaN(p.X) || math.IsNaN(p.Y) })
}

func xys(points []Point) (all plotter.XYs) {
	for _, p := range drawn(points) {
		all = append(all, plotter.XY{X: p.X, Y: p.Y})
	}
	return all
}

func stroke(points []Point, s draw.LineStyle) plot.Plotter {
	return &plotter.Line{XYs: xys(points), LineStyle: s}
}
