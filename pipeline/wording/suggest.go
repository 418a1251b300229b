// Package wording holds the phrases that messages of several packages share: suggestions for
// misspelled names, lists, plurals, durations and sizes.
package wording

import (
	"fmt"
	"strings"
)

// maxListed is the largest number of known words that DidYouMean lists completely.
const maxListed = 20

// DidYouMean returns the end of a message about an unknown word: a question with the nearest of
// the known words, or with those whose last part is nearest (em: expmech/em). If none is near, it
// returns a list of all known words if there are at most 20.
func DidYouMean(word string, known []string) string {
	if s, ok := Nearest(word, known); ok {
		return fmt.Sprintf(", did you mean %q?", s)
	}
	var parts, whole []string
	for _, k := range known {
		parts = append(parts, k[strings.LastIndexByte(k, '/')+1:])
	}
	part, ok := Nearest(word, parts)
	for i, k := range known {
		if ok && parts[i] == part {
			whole = append(whole, fmt.Sprintf("%q", k))
		}
	}
	if len(whole) > 0 {
		return ", did you mean " + strings.Join(whole, " or ") + "?"
	}
	if len(known) > 0 && len(known) <= maxListed {
		return "; there is " + strings.Join(known, ", ")
	}
	return ""
}

// Nearest returns the first of the known words with the fewest typing errors relative to word,
// and reports whether there is one within a third of its letters, at most three. Words without a
// common letter are not near.
func Nearest(word string, known []string) (string, bool) {
	if len(word) > 64 {
		return "", false
	}
	best, limit := "", max(1, min(3, len(word)/3))+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d < limit && d < max(len(word), len(k)) { // at least one common letter
			best, limit = k, d
		}
	}
	return best, best != ""
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbor
// to change a into b (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}
