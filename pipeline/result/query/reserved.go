package query

import (
	"regexp"
	"slices"
	"strings"
)

// token matches a comment, a string, a quoted name, a word, white space, or any other character.
var token = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[\pL_][\pL\pN_$]*|\s+|.`)

// quoteTable quotes the word table where it can only be the view of that name: after from, join, a
// comma and the like, or before a dot. Without the quotes such a text is no SQL, because the word
// is reserved.
func quoteTable(sql string) string {
	tokens := token.FindAllString(sql, -1)
	before := ""
	for i, t := range tokens {
		if strings.TrimSpace(t) == "" || strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") {
			continue
		}
		dotted := i+1 < len(tokens) && tokens[i+1] == "."
		follows := slices.Contains([]string{"from", "join", ",", "describe", "summarize", "pivot", "unpivot"},
			strings.ToLower(before))
		if strings.EqualFold(t, "table") && (follows || dotted) {
			tokens[i] = `"table"`
		}
		before = t
	}
	return strings.Join(tokens, "")
}
