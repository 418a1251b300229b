package result

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A Source is a result folder and its name for users.
type Source struct{ Name, Dir string }

// Join writes the Parquet files of several results into the folder dir: all their rows, with the
// column [trial.FolderColumn], and in the column audited what audits found about learners. It returns
// the ids of cells for each source. An id that an earlier source has too gets a suffix.
func Join(sources []Source, dir string) (ids []map[string]string, err error) {
	taken := map[string]bool{}
	for i := range sources {
		table, err := sheet.ReadTable(sources[i].Dir, "table")
		if err != nil {
			return nil, err
		}
		own := map[string]string{}
		for row := range table.Len() {
			for _, column := range idColumns {
				id := sheet.Text(table.Value(row, column))
				if own[id] = id; id != "" && taken[id] {
					own[id] = fmt.Sprintf("%s@%d", id, i+1)
				}
			}
		}
		for id := range own {
			taken[id] = true
		}
		ids = append(ids, own)
	}
	for _, f := range layout {
		name, ok := strings.CutSuffix(f.name, ".parquet")
		if !ok {
			continue
		}
		s, err := union(sources, ids, name)
		if err == nil && name == "table" {
			s, err = withAudited(s, sources, ids)
		}
		if err != nil {
			return nil, err
		}
		err = disk.WriteFile(filepath.Join(dir, f.name), func(w io.Writer) error { return render.Render(s, w, "parquet") })
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// union returns the rows of one table of all sources.
func union(sources []Source, ids []map[string]string, name string) (*sheet.Sheet, error) {
	var all []*sheet.Sheet
	for i, source := range sources {
		s, err := sheet.ReadTable(source.Dir, name)
		if err != nil {
			return nil, err
		}
		all = append(all, withFolder(s, source.Name, ids[i]))
	}
	return sheet.Union(all), nil
}

// idColumns are the columns that hold ids of cells.
var idColumns = []string{"cell", "search_id"}

// withFolder returns a sheet with other ids of cells and with the name of its folder.
func withFolder(s *sheet.Sheet, folder string, ids map[string]string) *sheet.Sheet {
	for _, column := range idColumns {
		if at := s.Index(column); at >= 0 {
			before := s
			s = s.Replace(at, func(row int) any {
				id := sheet.Text(before.At(row, at))
				return schemas.Nonzero(cmp.Or(ids[id], id))
			})
		}
	}
	return s.Insert(s.Index("cell")+1, schemas.Column{Name: trial.FolderColumn, Type: schemas.TextColumn},
		func(int) any { return folder })
}

// JoinRechecks returns the rechecks of several results whose cells have the ids that [Join] returned.
func JoinRechecks(all []*schemas.Rechecks, ids []map[string]string) *schemas.Rechecks {
	joined := &schemas.Rechecks{}
	for i, x := range all {
		if x == nil {
			continue
		}
		joined.Share = max(joined.Share, x.Share)
		for _, c := range slices.Clone(x.Cells) {
			c.Cell = ids[i][c.Cell]
			joined.Cells = append(joined.Cells, c)
		}
		for _, c := range slices.Clone(x.Contradictions) {
			c.Cell = ids[i][c.Cell]
			joined.Contradictions = append(joined.Contradictions, c)
		}
		joined.Notes = append(joined.Notes, x.Notes...)
	}
	return joined
}
