package schemas_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Pages are short, except generated ones, and their code fits a narrow window.
func TestPagesAreShort(t *testing.T) {
	for _, file := range markdownFiles(t) {
		text, most := testkit.ReadFile(t, filepath.Join("..", file)), 2500
		if strings.Contains(file, "testdata/") || strings.HasPrefix(file, "schemas/reference/") {
			continue
		}
		if file == "README.md" {
			most = 900 // for a new user before the first run
		}
		if n := len(strings.Fields(text)); n > most {
			t.Errorf("%s has %d words, more than %d: split it, or move details", file, n, most)
		}
		for _, block := range fenced.FindAllString(text, -1) {
			for line := range strings.Lines(block) {
				if utf8.RuneCountInString(line) > 101 {
					t.Errorf("%s: a line of code has more than 100 columns: %s", file, line)
				}
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\[((?:[^\[\]])*)\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	word    = regexp.MustCompile("^`(?:\\w+\\.)?(\\w+)`$")
)

// TestLinks checks that links in the documents lead to existing files, and that a link to a Go file
// whose text is a name in code leads to a file that declares this name.
func TestLinks(t *testing.T) {
	files := markdownFiles(t)
	if len(files) < 6 {
		t.Fatalf("found only %v", files)
	}
	for _, file := range files {
		prose := fenced.ReplaceAllString(testkit.ReadFile(t, filepath.Join("..", file)), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			text, target := m[1], m[2]
			if strings.Contains(target, "://") {
				continue
			}
			to, anchor, _ := strings.Cut(target, "#")
			to = path.Join(path.Dir(file), to)
			if target[0] == '#' {
				to = file
			}
			checkLink(t, file, text, to, anchor)
		}
	}
}

// foreign lists folders that do not belong to the repository.
var foreign = []string{".git", "bin", "node_modules", "shatter-out"}

// markdownFiles lists the documents of the repository, relative to its top folder.
func markdownFiles(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(foreign, d.Name()):
			return fs.SkipDir
		case path.Ext(name) == ".md" && !d.IsDir():
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func checkLink(t *testing.T, file, text, to, anchor string) {
	t.Helper()
	info, err := os.Stat(filepath.Join("..", to))
	if err != nil {
		t.Errorf("%s: the link %q leads to %s, which does not exist", file, text, to)
		return
	}
	if info.IsDir() {
		return
	}
	content := testkit.ReadFile(t, filepath.Join("..", to))
	if anchor != "" && !hasHeading(content, anchor) {
		t.Errorf("%s: %s has no heading #%s", file, to, anchor)
	}
	if name := word.FindStringSubmatch(text); name != nil && path.Ext(to) == ".go" {
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + name[1] + `\b`)
		if !declared.MatchString(content) {
			t.Errorf("%s: %s does not declare %s", file, to, name[1])
		}
	}
}

// TestMap checks that the map of the code names every package directly in pipeline or plugins.
func TestMap(t *testing.T) {
	guide := testkit.ReadFile(t, "../pipeline/README.md")
	for _, room := range []string{"pipeline", "plugins"} {
		packages, err := filepath.Glob("../" + room + "/*/*.go")
		if err != nil || len(packages) == 0 {
			t.Fatalf("no packages in %s: %v", room, err)
		}
		for _, file := range packages {
			name := filepath.Base(filepath.Dir(file))
			if !strings.Contains(guide, "/"+name+"](") && !strings.Contains(guide, "["+name+"](") &&
				!strings.Contains(guide, "`"+name+"`") {
				t.Errorf("pipeline/README.md has no place for %s/%s", room, name)
			}
		}
	}
}

var dropped = regexp.MustCompile("[^a-z0-9 _-]")

// hasHeading reports whether a document has a heading with the given GitHub anchor.
func hasHeading(content, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(content, ""), -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}
