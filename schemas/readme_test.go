package schemas_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

//go:generate go test -run TestCopies -update .

var section = regexp.MustCompile(`(?s)(<!-- begin copy: (\S+) -->\n).*?(<!-- end copy -->)`)

// TestCopies keeps copies of programs, sweeps and tables in the documents current.
func TestCopies(t *testing.T) {
	copies := 0
	for _, document := range markdownFiles(t) {
		path := filepath.Join("..", document)
		got := testkit.ReadFile(t, path)
		want := section.ReplaceAllStringFunc(got, func(old string) string {
			copies++
			m := section.FindStringSubmatch(old)
			text := testkit.ReadFile(t, filepath.Join("..", m[2]))
			if language := languages[filepath.Ext(m[2])]; language != "" {
				text = "```" + language + "\n" + text + "```\n"
			}
			return m[1] + text + m[3]
		})
		if strings.Contains(got, "<!--") {
			testkit.GoldenAt(t, path, []byte(want))
		}
	}
	if copies < 5 {
		t.Errorf("found only %d copies", copies)
	}
}

// languages maps the end of a file's name to the language of its code block.
var languages = map[string]string{".go": "go", ".py": "python", ".yaml": "yaml"}
