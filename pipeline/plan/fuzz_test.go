package plan

import (
	"fmt"
	"os"
	"testing"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// What a folder says of the plan that was run may be anything, and is told apart from that of today.
func FuzzDiff(f *testing.F) {
	whole, err := os.ReadFile("testdata/halfspace-margin.resolved.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	today := fmt.Appendf(nil, `{"format":%d,"name":"x","task":"learn","seed":1,"problems":{"p":{"class":{"points":{}}}},`+
		`"measures":[{"n":[1],"trials":2}],"cells":[{"key":"%064x","problem":"p","as":"a","measure":0,"beta":0.1}]}`,
		trial.Format, 1)
	f.Add(today)
	for _, cell := range []string{
		`{"key":"%064x","problem":"p","measure":1}`, `{"key":"%064x","problem":"p","measure":-1}`,
		`{"key":"%064x","problem":"q"}`,
		`{"key":"%064x","problem":"p","adversary":{}}`, `{"key":"%064x","problem":"p","params":{"a":1}}`,
	} {
		f.Add(fmt.Appendf(nil, `{"format":%d,"problems":{"p":{"data":{"digest":"d"},"matrix":{},"test":3}},`+
			`"measures":[{"find":{},"over":{}}],"cells":[`+cell+`]}`, trial.Format, 1))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		if lines := Diff(old, today); (len(lines) == 0) != (string(old) == string(today)) {
			t.Errorf("%q", lines)
		}
		Moves(old, today)
	})
}
