package result

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A Source is a result folder and its name for users.
type Source struct{ Name, Dir string }

// Join writes the Parquet files of several results into the folder dir: all their rows, with the
// column [trial.FolderColumn]. It returns the ids of cells for each source. An id that an earlier
// source has too gets a suffix.
func Join(sources []Source, dir string) (ids []map[string]string, err error) {
	taken := map[string]bool{}
	for i := range sources {
		table, err := sheet.ReadTable(sources[i].Dir, "table")
		if err != nil {
			return nil, err
		}
		own := map[string]string{}
		for _, column := range []string{"cell", "search_id"} {
			if at := table.Index(column); at >= 0 {
				for _, v := range table.Distinct(at) {
					id := sheet.Text(v)
					if own[id] = id; taken[id] {
						own[id] = fmt.Sprintf("%s@%d", id, i+1)
					}
				}
			}
		}
		for id := range own {
			taken[id] = true
		}
		ids = append(ids, own)
	}
	for _, f := range layout {
		if filepath.Ext(f.name) != ".parquet" {
			continue
		}
		name := f.name[:len(f.name)-len(".parquet")]
		var all []*sheet.Sheet
		for i, source := range sources {
			s, err := sheet.ReadTable(source.Dir, name)
			if err != nil {
				return nil, err
			}
			for _, column := range []string{"cell", "search_id"} {
				if at := s.Index(column); at >= 0 {
					before := s
					s = s.Replace(at, func(row int) any {
						if id, ok := ids[i][sheet.Text(before.At(row, at))]; ok && id != "" {
							return id
						}
						return before.At(row, at)
					})
				}
			}
			at := s.Index("cell") + 1
			all = append(all, s.Insert(at, schemas.Column{Name: trial.FolderColumn, Type: schemas.TextColumn},
				func(int) any { return source.Name }))
		}
		joined := sheet.Union(all)
		err := disk.WriteFile(filepath.Join(dir, f.name), func(w io.Writer) error {
			return render.Render(joined, w, "parquet")
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
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
