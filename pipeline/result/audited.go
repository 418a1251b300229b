package result

import (
	"fmt"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/schemas"
)

// withAudited fills the column audited in the table of all sources. Guarantees depend on an algorithm's
// code, so audits of other code do not count.
func withAudited(table *sheet.Sheet, sources []Source, ids []map[string]string) (*sheet.Sheet, error) {
	audited := table.Index("audited")
	if audited < 0 {
		return table, nil // no audit
	}
	timing, err := union(sources, ids, "timing")
	if err != nil {
		return nil, err
	}
	digests := map[string]string{} // key: cell; value "" if it has several
	for row := range timing.Len() {
		id, digest := sheet.Text(timing.Value(row, "cell")), sheet.Text(timing.Value(row, "digest"))
		if old, known := digests[id]; known && old != digest {
			digest = ""
		}
		digests[id] = digest
	}
	same := []string{"algorithm", "epsilon", "delta", "privacy"}
	for _, c := range table.Columns {
		if strings.HasPrefix(c.Name, schemas.ParamPrefix) {
			same = append(same, c.Name)
		}
	}
	key := func(row int) string { // "" if the code is unknown
		text := digests[sheet.Text(table.Value(row, "cell"))]
		if text == "" {
			return ""
		}
		for _, name := range same {
			text += "\n" + sheet.Text(table.Value(row, name))
		}
		return text
	}
	type audits struct {
		pairs   int64
		low     float64 // largest epsilon_low
		refuted bool
	}
	found := map[string]audits{}
	for row := range table.Len() {
		refuted, audit := table.Value(row, "refuted").(bool)
		if k := key(row); audit && k != "" {
			x := found[k]
			pairs, _ := table.Value(row, "pairs").(int64)
			x.pairs, x.refuted = x.pairs+pairs, x.refuted || refuted
			if low := table.Number(row, "epsilon_low"); low > x.low {
				x.low = low
			}
			found[k] = x
		}
	}
	return table.Replace(audited, func(row int) any {
		x, known := found[key(row)]
		switch {
		case !known || table.Value(row, "task") != task.Default:
			return nil
		case x.refuted:
			return fmt.Sprintf("refuted, %d pairs", x.pairs)
		case x.low > 0:
			return fmt.Sprintf("not refuted, %d pairs, epsilon_low %.4g", x.pairs, x.low)
		}
		return fmt.Sprintf("not refuted, %d pairs", x.pairs)
	}), nil
}
