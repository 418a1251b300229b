package concept

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The classes of New have the separators of their definitions.
func TestSeparatorsOfClasses(t *testing.T) {
	testkit.Serial(t)
	for _, s := range append(smallSpecs(), Spec{Name: "rectangles", Domain: 3}, Spec{Name: "stumps", Domain: 3}) {
		made, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := made.(Finite)
		if !ok {
			t.Fatalf("class %q cannot be listed", s.Name)
		}
		s.Dim = c.Dim() // that of the definition, where it was left out
		for _, kind := range SeparatorKinds() {
			if kind == "code" && s.Name != "parities" || kind == drawnPrintedKind { // it need not separate
				continue
			}
			_, want := separatorOf(t, s, kind, 3)
			got, err := NewSeparator(c, s, kind, 3)
			if err != nil {
				t.Fatalf("%+v, %s: %v", s, kind, err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Separator{})); diff != "" {
				t.Errorf("%+v, %s (-definition +class):\n%s", s, kind, diff)
			}
			if least, _ := apart(c, got); got.Hamming != least {
				t.Errorf("%+v, %s: h %d, want %d", s, kind, got.Hamming, least)
			}
		}
	}
}
