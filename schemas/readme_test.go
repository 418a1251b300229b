package schemas_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/reference"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

//go:generate go test -run TestGeneratedSections -update .

// sections maps the word after "begin generated:" to the generator of a section of the documents. A
// section "example FILE" shows the program in that file, and "copy of FILE" is the text of a file
// that another test keeps current.
var sections = map[string]func(t *testing.T) string{
	"keys":          keyTables,
	"classes":       classTable,
	"targets":       targetTable,
	"distributions": distributionTable,
	"noises":        noiseTable,
	"adversaries":   adversaryTables,
	"columns":       columnTables,
	"formats":       formatTable,
	"algorithms":    algorithmTable,
	"premises":      premiseTable,
}

// documents are the files with generated sections, relative to the top folder.
var documents = []string{"README.md", "schemas/README.md", "plugins/README.md"}

var section = regexp.MustCompile(`(?s)(<!-- begin generated: ([^\n]+?) -->\n).*?(<!-- end generated -->)`)

func TestGeneratedSections(t *testing.T) {
	found := map[string]bool{}
	for _, document := range documents {
		path := filepath.Join("..", document)
		got := testkit.ReadFile(t, path)
		want := section.ReplaceAllStringFunc(got, func(old string) string {
			m := section.FindStringSubmatch(old)
			found[m[2]] = true
			return m[1] + generateSection(t, m[2]) + m[3]
		})
		testkit.GoldenAt(t, path, []byte(want))
	}
	for name := range sections {
		if !found[name] {
			t.Errorf("no document has the section %q", name)
		}
	}
}

func generateSection(t *testing.T, name string) string {
	if file, ok := strings.CutPrefix(name, "example "); ok {
		language, ok := map[string]string{".go": "go", ".py": "python", ".yaml": "yaml"}[filepath.Ext(file)]
		if !ok {
			t.Fatalf("section %q: an example in no known language", name)
		}
		return "```" + language + "\n" + testkit.ReadFile(t, filepath.Join("..", file)) + "```\n"
	}
	if file, ok := strings.CutPrefix(name, "copy of "); ok {
		return testkit.ReadFile(t, filepath.Join("..", file))
	}
	generate, ok := sections[name]
	if !ok {
		t.Fatalf("there is no section %q", name)
	}
	return generate(t)
}

// table writes a table of Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			if !strings.HasPrefix(c, "`") { // a name in brackets would be parsed as a tag
				c = strings.ReplaceAll(c, "<", "&lt;")
			}
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

// codes writes names as code, with commas between them.
func codes(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = code(n)
	}
	return strings.Join(quoted, ", ")
}

// keyed are the mappings of the sweep file in the order in which they are described.
var keyed = []struct {
	at string // position of the mapping
	of reflect.Type
}{
	{"the top level", reflect.TypeFor[schemas.Sweep]()},
	{"the top level, and each item of `grids`", reflect.TypeFor[schemas.Grid]()},
	{"`problem`", reflect.TypeFor[schemas.ProblemSpec]()},
	{"`problem.noise`", reflect.TypeFor[schemas.NoiseSpec]()},
	{"`problem.data`", reflect.TypeFor[schemas.DataSpec]()},
	{"an item of `algorithms`", reflect.TypeFor[schemas.AlgorithmUse]()},
	{"`privacy`", reflect.TypeFor[schemas.Privacy]()},
	{"`goal`", reflect.TypeFor[schemas.Goal]()},
	{"`n`", reflect.TypeFor[schemas.SampleSizes]()},
	{"`search`", reflect.TypeFor[schemas.SearchSpec]()},
	{"`trials`", reflect.TypeFor[schemas.Trials]()},
	{"`adversary`", reflect.TypeFor[schemas.AdversarySpec]()},
	{"an item of `fits`", reflect.TypeFor[schemas.FitSpec]()},
	{"`limits`", reflect.TypeFor[schemas.Limits]()},
	{"a range, in the place of a list of numbers", axisRange},
}

func keyTables(t *testing.T) string {
	comments := new(jsonschema.Reflector)
	if err := comments.AddGoComments("schemas", "./", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, k := range keyed {
		var rows [][]string
		for i := range k.of.NumField() {
			f := k.of.Field(i)
			key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case option == "inline":
				continue
			case key == "" && option == "short":
				key = "*plain value*"
			case key == "" && option == "rest":
				key, f.Type = "*any other key*", f.Type.Elem()
			default:
				key = code(key)
			}
			doc := strings.Join(strings.Fields(comments.CommentMap["schemas."+k.of.Name()+"."+f.Name]), " ")
			if doc == "" {
				t.Errorf("%s.%s has no comment", k.of.Name(), f.Name)
			}
			rows = append(rows, []string{key, valueOf(f), doc})
		}
		fmt.Fprintf(&b, "### Keys of %s\n\n%s\n", k.at, table([]string{"key", "value", "meaning"}, rows))
	}
	return b.String()
}

// valueOf says in a few words what may stand behind a key.
func valueOf(f reflect.StructField) string {
	k := sweep.KeyOf(f)
	words := reference.WordsOf(k)
	if k.Axis() {
		words += "; axis"
	}
	if k.Required {
		words += "; required"
	}
	if k.Default != "" {
		words += "; default " + code(k.Default)
	}
	return words
}

// definitions returns all classes.
func definitions(t *testing.T) (all []*concept.Definition) {
	for _, name := range concept.Names() {
		d, ok := concept.Lookup(name)
		if !ok {
			t.Fatalf("class %s has no definition", name)
		}
		all = append(all, d)
	}
	return all
}

func classTable(t *testing.T) string {
	var rows [][]string
	for _, d := range definitions(t) {
		rows = append(rows, []string{code(d.Name), reference.PointsOf(d.Name), d.Doc})
	}
	return table([]string{"class", "points", "functions"}, rows)
}

func targetTable(t *testing.T) string {
	var rows [][]string
	for _, d := range definitions(t) {
		rows = append(rows, []string{code(d.Name), cmp.Or(d.RandomDoc, "none: an adversary chooses the labels"), d.MiddleDoc,
			cmp.Or(d.Notation, "none")})
	}
	return table([]string{"class", "`random`", "`middle`", "a hypothesis"}, rows)
}

// resultFiles are the files of a result, with what a row of them is.
var resultFiles = []struct{ name, row string }{
	{"table", "`table` of the tasks `learn` and `predict`: one row per cell. The key columns, " +
		"`p_<parameter>`, then"},
	{"games", "`table` of the task `online`: one row per cell and number of rounds. The key columns, " +
		"`p_<parameter>`, then"},
	{"curve", "`curve`: one row per cell and sample size. The key columns, `p_<parameter>`, then these, then " +
		"`m_<metric>`, means over the trials that reported them"},
	{"bounds", "`bounds`: one row per cell and bound of the theory. These, then `w_<intermediate value>`"},
	{"fits", "`fits`: one row per item of the sweep file's `fits` and group of cells that agree in all but x"},
	{"trials", "`trials`: one row per trial that counts. These, then `m_<metric>`"},
	{"timing", "`timing`: one row per message of a worker; no part of the result, and different from run to run"},
}

func columnTables(*testing.T) string {
	var b strings.Builder
	write := func(title string, columns []schemas.Column) {
		var rows [][]string
		for _, c := range columns {
			rows = append(rows, []string{code(c.Name), string(c.Type), c.Doc})
		}
		fmt.Fprintf(&b, "%s:\n\n%s\n", title, table([]string{"column", "type", "meaning"}, rows))
	}
	var keys []schemas.Column
	for _, k := range trial.KeyColumns() {
		keys = append(keys, k.Column)
	}
	write("Key columns, which say what a cell is and stand first in `table` and `curve`", keys)
	for _, f := range resultFiles {
		columns := result.Columns(f.name)
		if len(columns) > len(keys) && columns[len(keys)-1].Name == keys[len(keys)-1].Name {
			columns = columns[len(keys):]
		}
		write(f.row, columns)
		if f.name == "table" {
			write("Where a sweep searches another number than n (`search`), `table` has these too", result.SearchColumns())
		}
	}
	return b.String()
}

func formatTable(*testing.T) string {
	var rows [][]string
	for _, f := range render.Formats() {
		rows = append(rows, []string{code(f.Name), f.Doc})
	}
	return table([]string{"`-o`", "what it writes"}, rows)
}
