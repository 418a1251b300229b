package result

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/schemas"
)

// Every failure of a cell is counted by its kind, in any order; the text of a plugin has a bounded length.
func TestFailures(t *testing.T) {
	const lost = "above 2 GiB"
	type failure struct {
		rep          int64
		status       uint8
		kind, reason string
	}
	failed := func(from, to int64, kind string, reason func(rep int64) string) (all []failure) {
		for rep := from; rep < to; rep++ {
			all = append(all, failure{rep, ledger.Failed, kind, reason(rep)})
		}
		return all
	}
	always := func(s string) func(int64) string { return func(int64) string { return s } }
	for _, tt := range []struct {
		name     string
		messages [][]failure // messages of workers
		lost     []int64     // lost trials of the point
		want     []string    // status, kind, reason, trials, first
		says     string      // reason in the table
	}{
		{"nothing", nil, nil, nil, ""},
		{"two reasons of one kind and another kind", [][]failure{
			failed(6, 8, "panic", always("index 3\nout of\x1b[2J range")),
			append(failed(0, 1, "panic", always("divided by 0")), failed(2, 3, "answer", always(""))...),
		}, nil, []string{
			"failed answer - 1 ed00000000/100/2", "failed panic divided by 0 3 ed00000000/100/0",
		}, "4 trials failed, for example: divided by 0"},
		{"a reason of two lines", [][]failure{failed(6, 8, "panic", always("index 3\nout of\x1b[2J range"))}, nil,
			[]string{"failed panic index 3 out of [2J range 2 ed00000000/100/6"},
			"2 trials failed, for example: index 3 out of [2J range"},
		{"beyond what entered the result", [][]failure{failed(29, 33, "error", always("x"))}, nil,
			[]string{"failed error x 1 ed00000000/100/29"}, "1 trial failed, for example: x"},
		{"lost", [][]failure{{{4, ledger.Lost, "memory", lost}, {5, ledger.Lost, "memory", lost}}},
			[]int64{4, 5}, []string{"lost memory above 2 GiB 2 ed00000000/100/4"}, ""},
		{"lost once, then it came", [][]failure{{{4, ledger.Lost, "time", "slow"}}, {{4, ledger.OK, "", ""}}}, nil, nil, ""},
		{"a long reason", [][]failure{failed(0, 1, "error", always(strings.Repeat("é", 10_000)))}, nil,
			[]string{"failed error " + strings.Repeat("é", 300) + "... 1 ed00000000/100/0"},
			"1 trial failed, for example: " + strings.Repeat("é", 300) + "..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := ledgertest.Open(t, t.TempDir())
			c := *cells()[1]
			c.Key = [32]byte{0x4d}
			row := CurveRow{Cell: &c, N: 100, Trials: 30}
			for _, message := range tt.messages {
				b := &ledger.Batch{Sweep: ledgertest.Sweep, Cell: c.Key, N: 100}
				for _, f := range message {
					e := nan
					if f.status == ledger.OK {
						e = 0
					}
					if f.status == ledger.Failed {
						row.Failed++
					}
					b.Repetition, b.Status, b.Error = append(b.Repetition, f.rep), append(b.Status, f.status), append(b.Error, e)
					b.Kind, b.Reason = append(b.Kind, f.kind), append(b.Reason, f.reason)
				}
				ledgertest.Add(t, l, b)
			}
			r := Result{Ledger: l, Curve: []CurveRow{row}, Table: []TableRow{{Cell: &c}},
				Trials: []Consumed{{Cell: &c, Points: []Point{{N: 100, Consumed: 30, Lost: tt.lost}}}}}
			s, err := r.Sheet("failures")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row := range s.Rows() {
				text := strings.ReplaceAll(strings.Trim(fmt.Sprint(row[2:]), "[]"), "<nil>", "-")
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			table, err := r.Sheet("table")
			if err != nil {
				t.Fatal(err)
			}
			table = AddFailures(table, s)
			if says, _ := table.At(0, schemas.IndexOf(table.Columns, "reason")).(string); says != tt.says {
				t.Errorf("reason %q, want %q", says, tt.says)
			}
		})
	}
}
