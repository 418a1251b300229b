package report

import (
	"regexp"
	"strings"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"

	"github.com/shatterlab/shatter/pipeline/result/render"
)

// word matches a word between spaces or commas. Names of algorithms, such as acme/delta, contain
// other characters.
var word = regexp.MustCompile(`[^ ,]+`)

// greek replaces the names of Greek letters in a label: "expmech/em, ε 0.5".
func greek(label string) string {
	return word.ReplaceAllStringFunc(label, func(w string) string {
		if letter := render.Greek[w]; letter != "" {
			return letter
		}
		return w
	})
}

// outlines is a PDF whose Greek letters are drawn as shapes, because the library writes text in
// code page 1252, which lacks them.
type outlines struct{ *vgpdf.Canvas }

// FillString writes the text at a point.
func (c outlines) FillString(face font.Face, at vg.Point, text string) {
	for text != "" {
		i := strings.IndexFunc(text, isGreek)
		if i < 0 {
			i = len(text)
		}
		c.Canvas.FillString(face, at, text[:i])
		at.X += face.Width(text[:i])
		text = text[i:]
		for _, r := range text {
			if !isGreek(r) {
				break
			}
			c.Fill(shape(face, at, r))
			at.X += face.Width(string(r))
			text = text[len(string(r)):]
		}
	}
}

func isGreek(r rune) bool { return 'α' <= r && r <= 'ω' }

// shape returns the outline of a letter at a point.
func shape(face font.Face, at vg.Point, r rune) (path vg.Path) {
	var b sfnt.Buffer
	i, err := face.Face.GlyphIndex(&b, r)
	if err != nil {
		return nil
	}
	segments, err := face.Face.LoadGlyph(&b, i, fixed.Int26_6(64*face.Font.Size.Points()), nil)
	if err != nil {
		return nil
	}
	place := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X)/64, Y: at.Y - vg.Length(p.Y)/64}
	}
	for _, s := range segments {
		switch a := s.Args; s.Op {
		case sfnt.SegmentOpMoveTo:
			path.Move(place(a[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(place(a[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(place(a[0]), place(a[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(place(a[0]), place(a[1]), place(a[2]))
		}
	}
	return path
}
