package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A brief is a short form of a sheet for people.
type brief struct {
	sheet   *sheet.Sheet
	facts   []fact // lines above the table: values that all rows share, parameters of each algorithm
	below   []note // lines below the table: confidence, sources of the theory's values
	columns []briefColumn

	width    int             // width of a line in characters; 0: unlimited
	chosen   bool            // the user chose the columns
	isCut    bool            // some text is shortened to fit the width
	unproved bool            // some row's privacy is not proved; the column privacy marks it
	short    bool            // without details
	siunitx  bool            // numbers in tex are for siunitx
	notes    bool            // lines around a table in tex are notes
	needed   map[string]bool // parameter columns without which some rows would look equal
	omitted  []string        // columns that the table does not show
}

// briefColumn is a column of a brief.
type briefColumn struct {
	schemas.Column
	from  int      // index in the sheet
	texts []string // index: row; "-" for null
	width int      // characters of the widest text, or of the name
}

// newColumn returns column i of a sheet. text formats its values.
func newColumn(s *sheet.Sheet, i int, text func(any) string) briefColumn {
	c := briefColumn{Column: s.Columns[i], from: i, texts: make([]string, s.Len())}
	c.Name = oneLine(c.Name)
	for row := range c.texts {
		c.texts[row] = cmp.Or(text(s.At(row, i)), "-")
	}
	c.measure()
	return c
}

func (c *briefColumn) measure() {
	c.width = utf8.RuneCountInString(c.Name)
	for _, text := range c.texts {
		c.width = max(c.width, utf8.RuneCountInString(text))
	}
}

// index returns the index of the column of a name, or -1.
func (b *brief) index(name string) int {
	return slices.IndexFunc(b.columns, func(c briefColumn) bool { return c.Name == name })
}

// A fact is a value that all rows share, or all rows of one class, distribution or algorithm.
type fact struct{ of, text string }

// A note is a line below the table. It is shown if the table has one of the columns in about, or if about
// is empty.
type note struct {
	text   string
	about  []string
	detail bool // a source or a reason, which short tables omit
}

// newBrief returns the brief of a sheet without its empty columns. Values that are equal in all
// rows, in all rows of an algorithm (its parameters), or in all rows of a class or distribution
// (the description of the problem) become facts, unless they are measured. If columns are chosen,
// exactly those are kept.
func newBrief(s *sheet.Sheet, chosen []int) *brief {
	b := &brief{sheet: s, chosen: len(chosen) > 0, unproved: hasUnproved(s), needed: neededParams(s)}
	if !slices.ContainsFunc(chosen, func(i int) bool { return s.Columns[i].Name == "privacy_standing" }) {
		s = withStanding(s)
		b.sheet = s
	}
	shown := b.foldColumns(s, chosen)
	if b.chosen {
		names := distinguishing(s, shown, b.needed)
		if shown = chosen; len(names) > 0 && !slices.Contains(chosen, s.Index("cell")) {
			b.addNote("rows differ too in columns that are not shown: " + strings.Join(names, ", "))
		}
	}
	for _, i := range shown {
		b.columns = append(b.columns, newColumn(s, i, short))
	}
	if s.Confidence > 0 && slices.ContainsFunc(b.columns, isBracket) {
		b.below = slices.Insert(b.below, 0, note{text: fmt.Sprintf(
			"confidence %s that no bracket (n_low, n_high] of the table misses its n*", short(s.Confidence),
		)})
	}
	if s.Confidence > 0 && slices.ContainsFunc(b.columns, isFound) {
		at := " at its n"
		if s.Index("rounds") >= 0 { // games have no n
			at = ""
		}
		b.below = slices.Insert(b.below, 0, note{text: fmt.Sprintf("confidence %s that every search_insufficient is "+
			"insufficient%s and every search_sufficient sufficient, if success goes the way that search_success says",
			short(s.Confidence), at)})
	}
	for _, line := range slices.Concat(fitSentences(s, false), s.Notes) {
		b.addNote(line)
	}
	if isOverData(s) && slices.ContainsFunc(b.columns, isBracket) {
		b.addNote(onePopulation)
	}
	return b
}

// foldColumns turns columns into facts and notes where possible. It returns the remaining columns, without
// empty and chosen ones.
func (b *brief) foldColumns(s *sheet.Sheet, chosen []int) (rest []int) {
	for i, c := range s.Columns {
		values := distinct(s, i)
		forPrograms := c.Name == "sample" || c.Name == "fixed"
		if len(values) == 0 || forPrograms || slices.Contains(chosen, i) {
			continue
		}
		if notes, ok := notesOf(s, i, short(c.Name)); ok {
			for _, n := range notes {
				n.detail = c.Name != "contradicts" && c.Name != "privacy_contradicts"
				b.below = append(b.below, n)
			}
		} else if mayBeFact(c) && len(values) == 1 && hasNoNull(s, i) {
			b.facts = append(b.facts, fact{"", short(c.Name) + " " + values[0]})
		} else if facts, ok := factsBy(s, i); ok {
			b.facts = append(b.facts, facts...)
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// addNote adds a line below the table.
func (b *brief) addNote(line string) { b.below = append(b.below, note{text: line}) }

// aboveLines returns the lines above the table: the facts about all rows, then a line for each class,
// distribution and, unless the table is short, algorithm. Without all, they omit sigma 0, the parameter of noise
// whose level an algorithm derives from n. The file table.md has it, because the digest of a result covers that file.
func (b *brief) aboveLines(all bool) (lines []string) {
	of := map[string][]string{}
	for _, f := range b.facts {
		if all || f.text != "sigma 0" {
			of[f.of] = append(of[f.of], f.text)
		}
	}
	if same := of[""]; len(same) > 0 {
		lines = append(lines, strings.Join(same, ", "))
	}
	kinds := []string{"class", "distribution", "algorithm"}
	if b.short {
		kinds = kinds[:2]
	}
	for _, by := range kinds {
		i := b.sheet.Index(by)
		if i < 0 {
			continue
		}
		for _, name := range distinct(b.sheet, i) {
			if len(of[name]) > 0 {
				lines = append(lines, name+": "+strings.Join(of[name], ", "))
				delete(of, name)
			}
		}
	}
	return lines
}

// belowLines returns the lines below the table: the notes, then the names of omitted columns, or in a short table their
// number and that of omitted notes.
func (b *brief) belowLines() (lines []string) {
	omittedNotes := 0
	for _, n := range b.below {
		switch {
		case b.short && n.detail:
			omittedNotes++
		case len(n.about) == 0 || slices.ContainsFunc(n.about, func(name string) bool { return b.index(name) >= 0 }):
			lines = append(lines, n.text)
		}
	}
	switch {
	case b.short && len(b.omitted)+omittedNotes > 0:
		lines = append(lines, fmt.Sprintf("left out: %s and %s on sources (shatter table DIR --details)",
			wording.Count(len(b.omitted), "column"), wording.Count(omittedNotes, "note")))
	case len(b.omitted) > 0:
		lines = append(lines, leftOut+" (-o csv has all; --columns, or a select, names some): "+
			strings.Join(b.omitted, ", "))
	}
	if b.isCut {
		lines = append(lines, "… stands for text that is cut for want of width (-o csv has the whole)")
	}
	return lines
}

// leftOut begins the line that lists omitted columns.
const leftOut = "columns left out"

func isLeftOut(line string) bool { return strings.HasPrefix(line, leftOut) }

func (b *brief) remove(i int) { b.columns = slices.Delete(b.columns, i, i+1) }

// rareColumns lists columns that are shown only if the user chooses them.
var rareColumns = []string{
	"rho", "mu", "evaluation", "evaluation_error", "epsilon_implied", "epsilon_implied_reason",
	"n_model_low", "n_model_high", "ratio_model", "mean_error", "unbiased_error",
	"positive_share", "pulled_share", "digest", "constant", "chi_square", "freedom", "inflation",
}

// briefOf returns the brief of a sheet in the width of the view. If no columns are chosen, it omits the rare
// ones.
func (v View) briefOf(s *sheet.Sheet, chosen []int) *brief {
	b := newBrief(s, chosen)
	b.short, b.siunitx, b.notes = v.Short, v.SIUnitx, v.Notes
	if !b.chosen {
		b.omitRare()
	}
	b.fit(v.Width)
	return b
}

// omitRare omits rare columns, and numeric parameters that follow from the rest of a row. The column status
// becomes a fact if all cells are decided.
func (b *brief) omitRare() {
	for i := len(b.columns) - 1; i >= 0; i-- {
		c := b.columns[i]
		follows := trial.IsParam(c.Name) && c.Type == schemas.FloatColumn && !b.needed[c.Name]
		statuses := distinct(b.sheet, c.from)
		isFact := len(statuses) == 1 && (statuses[0] == estimate.StatusDecided || statuses[0] == estimate.StatusMeasured)
		if c.Name == "status" && isFact {
			b.facts = append(b.facts, fact{"", "status " + statuses[0]})
			b.remove(i)
		} else if slices.Contains(rareColumns, c.Name) && !(c.Name == "mean_error" && b.index("n_high") < 0) || follows {
			b.omitted = append([]string{c.Name}, b.omitted...)
			b.remove(i)
		}
	}
}

// neededParams returns the parameter columns without which some rows would have equal keys and equal other
// needed parameters.
func neededParams(s *sheet.Sheet) map[string]bool {
	p, needed := s.Whole(), map[string]bool{}
	for _, c := range s.Columns {
		if isKey(c.Name) && !trial.IsParam(c.Name) {
			p = s.Refine(p, c.Name)
		}
	}
	for _, c := range slices.Backward(s.Columns) {
		if !trial.IsParam(c.Name) {
			continue
		}
		if finer := s.Refine(p, c.Name); finer.Sets > p.Sets {
			p, needed[c.Name] = finer, true
		}
	}
	return needed
}

// distinguishing returns the names of those columns that distinguish rows: keys and needed parameters.
func distinguishing(s *sheet.Sheet, columns []int, needed map[string]bool) (names []string) {
	for _, i := range columns {
		if c := s.Columns[i]; isKey(c.Name) || needed[c.Name] {
			names = append(names, short(c.Name))
		}
	}
	return names
}

// isKey reports whether a column describes a row's cell in words. Columns of hashes do not.
func isKey(name string) bool {
	switch name {
	case "cell", "sample", "privacy", "privacy_standing":
		return false
	case "n", "rounds":
		return true
	}
	return trial.IsKeyColumn(name)
}

// notesOf returns the notes that replace column i. It is not ok if the column stays in the table.
func notesOf(s *sheet.Sheet, i int, name string) (notes []note, ok bool) {
	if source, ok := strings.CutSuffix(name, "_source"); ok {
		return byAlgorithm(s, i, ofSource(s, source)), true
	}
	switch name {
	case "theory_reason":
		return byAlgorithm(s, i, "no "+ofSource(s, "theory")), true
	case "contradicts":
		return alarms(s, i, "CONTRADICTED BOUND"), true
	case "privacy_contradicts":
		return alarms(s, i, "CONTRADICTED PRIVACY"), true
	case "theory_standing": // shown as a column unless it is the same everywhere
		return nil, slices.Equal(distinct(s, i), []string{trial.Proved})
	}
	return nil, false
}

// byAlgorithm returns a note for each value of column i. Each names its subject and, unless all rows have the
// same value, the algorithms that have it.
func byAlgorithm(s *sheet.Sheet, i int, about string) (notes []note) {
	var columns []string
	switch strings.TrimPrefix(about, "no ") {
	case "theory_n", "theory_regret":
		columns = []string{strings.TrimPrefix(about, "no "), "ratio_low", "ratio_high", "ratio_model", "theory_standing"}
	case "paper_n", "paper_regret":
		columns = []string{about}
	}
	values := distinct(s, i)
	by := s.Index("algorithm")
	if len(values) == 1 || by < 0 {
		return []note{{text: about + ": " + strings.Join(values, "; "), about: columns}}
	}
	algorithms := map[string][]string{}
	for row := range s.Len() {
		if v, a := short(s.At(row, i)), short(s.At(row, by)); !slices.Contains(algorithms[v], a) {
			algorithms[v] = append(algorithms[v], a)
		}
	}
	for _, v := range values {
		text := fmt.Sprintf("%s of %s: %s", about, strings.Join(algorithms[v], ", "), v)
		notes = append(notes, note{text: text, about: columns})
	}
	return notes
}

// alarms returns a note for each row with a value in column i, which lists refuted claims.
func alarms(s *sheet.Sheet, i int, title string) (notes []note) {
	for row := range s.Len() {
		if v := s.At(row, i); v != nil {
			line := fmt.Sprintf("%s in cell %s: %s", title, short(s.At(row, 0)), short(v))
			notes = append(notes, note{text: line})
		}
	}
	return notes
}

// isUnproved reports whether the privacy of a row is not proved. proof is the index of the column
// privacy_standing.
func isUnproved(s *sheet.Sheet, proof, row int) bool {
	v := s.At(row, proof)
	return v != nil && v != trial.Proved
}

// hasUnproved reports whether the privacy of some row is not proved.
func hasUnproved(s *sheet.Sheet) bool {
	proof := s.Index("privacy_standing")
	for row := range s.Len() {
		if proof >= 0 && isUnproved(s, proof, row) {
			return true
		}
	}
	return false
}

// withStanding merges the column privacy_standing, unless it is proved, into privacy and privacy_source: "pure
// (declared)". Privacy that is not proved has no source.
func withStanding(s *sheet.Sheet) *sheet.Sheet {
	proof, kind, source := s.Index("privacy_standing"), s.Index("privacy"), s.Index("privacy_source")
	if proof < 0 || kind < 0 {
		return s
	}
	told := s.Replace(proof, func(int) any { return nil }).Replace(kind, func(row int) any {
		if isUnproved(s, proof, row) {
			return fmt.Sprintf("%v (%v)", s.At(row, kind), s.At(row, proof))
		}
		return s.At(row, kind)
	})
	if source < 0 {
		return told
	}
	return told.Replace(source, func(row int) any {
		standing, from := s.At(row, proof), s.At(row, source)
		switch {
		case from == nil || !isUnproved(s, proof, row):
			return from
		case standing == trial.Unproved:
			return nil
		}
		return fmt.Sprintf("%v: %v", standing, from)
	})
}

// onePopulation explains n* if the population is a file.
const onePopulation = "over data, n* is for one concept and one population; without disguise, what was known of them " +
	"beforehand counts as learned"

// isOverData reports whether the population of some row is a file.
func isOverData(s *sheet.Sheet) bool {
	i := s.Index("data")
	return i >= 0 && slices.ContainsFunc(s.Distinct(i), func(v any) bool { return v != nil })
}

// factsBy returns the facts that replace column i if it describes problems or is a parameter: one for each
// class, distribution or algorithm. It is not ok if the column does not follow from one of these.
func factsBy(s *sheet.Sheet, i int) (facts []fact, ok bool) {
	switch c := s.Columns[i]; {
	case trial.IsParam(c.Name):
		return factsOf(s, i, "algorithm", true)
	case describes(c):
		for _, nulls := range []bool{false, true} {
			for _, by := range []string{"class", "distribution"} {
				if facts, ok := factsOf(s, i, by, nulls); ok {
					return facts, true
				}
			}
		}
	}
	return nil, false
}

// factsOf returns a fact for each value of the column by, if column i follows from it. If nulls is set, rows
// without a value do not count.
func factsOf(s *sheet.Sheet, i int, by string, nulls bool) (facts []fact, ok bool) {
	at := s.Index(by)
	if at < 0 {
		return nil, false
	}
	values := map[string]any{}
	var order []string
	for row := range s.Len() {
		of, own := short(s.At(row, at)), s.At(row, i)
		v, seen := values[of]
		if seen && v != own && (!nulls || v != nil && own != nil) || own != nil && of == "" {
			return nil, false
		}
		if !seen {
			order = append(order, of)
		}
		if v == nil {
			values[of] = own
		}
	}
	for _, of := range order {
		if v := values[of]; v != nil {
			name := short(s.Columns[i].Name)
			facts = append(facts, fact{of, strings.TrimPrefix(name, schemas.ParamPrefix) + " " + short(v)})
		}
	}
	return facts, true
}

func isBracket(c briefColumn) bool { return c.Name == "n_low" || c.Name == "n_high" }

func isFound(c briefColumn) bool {
	return c.Name == "search_insufficient" || c.Name == "search_sufficient"
}

// describes reports whether a column describes the problem or the goal. The class itself does not.
func describes(c schemas.Column) bool {
	return slices.Contains([]string{"evaluation", "prior_success", "positive_share", "constant_error", "pulled_share"},
		c.Name) ||
		slices.ContainsFunc(trial.KeyColumns(), func(k trial.KeyColumn) bool {
			return k.Name == c.Name && k.Has(trial.Describes)
		})
}

// ofSource returns the column that the column <source>_source is about: theory_n or theory_regret.
func ofSource(s *sheet.Sheet, source string) string {
	for _, c := range s.Columns {
		if c.Name == source+"_n" || c.Name == source+"_regret" {
			return c.Name
		}
	}
	return source
}

// furtherFacts lists the columns that become facts if they are constant, in addition to keys.
var furtherFacts = []string{
	"evaluation", "failed", "lost", "predictable", "rounds", "search", "search_success", "search_n", // of the table
	"standing", "order_only", "contradicted", // of bounds
	"x", "scale", "y", "line", // of fits
	"worker", "profile", // of timing
}

// mayBeFact reports whether a column becomes a fact if it is constant: a key, or one of furtherFacts.
func mayBeFact(c schemas.Column) bool {
	return c.Name != "cell" && (trial.IsKeyColumn(c.Name) || slices.Contains(furtherFacts, c.Name))
}

// distinct returns the distinct values of column i, in the order of the rows.
func distinct(s *sheet.Sheet, i int) []string {
	var values []string
	seen := map[string]bool{}
	for _, value := range s.Distinct(i) {
		if v := short(value); value != nil && !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// hasNoNull reports whether column i has a value in every row.
func hasNoNull(s *sheet.Sheet, i int) bool {
	return !slices.Contains(s.Distinct(i), nil)
}

// short formats a value for people, on one line.
func short(v any) string {
	if f, ok := v.(float64); ok {
		if size := math.Abs(f); size >= 1e4 && size < 1e9 { // includes sample sizes
			return strconv.FormatFloat(f, 'f', 0, 64)
		}
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return oneLine(sheet.Text(v))
}

// oneLine returns a text without line breaks and without characters that move a terminal's cursor
// or change the direction of text.
func oneLine(v string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(v), " "))
}
