package ledger

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// RenderWhole is Render as table or md, but with every column, all their digits, and nothing said aside: for the answer to a question
// that chose its columns.
func (s *Sheet) RenderWhole(w io.Writer, format string) error {
	b := brief{columns: s.Columns}
	for _, row := range s.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			if line[i] = strings.Join(strings.Fields(text(v)), " "); line[i] == "" {
				line[i] = "-"
			}
		}
		b.rows = append(b.rows, line)
	}
	out := bufio.NewWriter(w)
	switch format {
	case "table":
		b.renderTable(out)
	case "md":
		b.renderMarkdown(out)
	default:
		return fmt.Errorf("show %s: unknown format %q: must be table or md", s.Name, format)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("show %s as %s: %w", s.Name, format, err)
	}
	return nil
}
