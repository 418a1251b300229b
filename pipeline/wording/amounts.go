package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count returns a quantity with its noun: "1 cell", "2 cells".
func Count(n int, noun string) string { return CountOf(n, noun, noun+"s") }

// CountOf is Count for a noun with an irregular plural.
func CountOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Percent returns a share of 0..1 with two digits, as "19 %", or with as many as distinguish it
// from 1.
func Percent(share float64) string {
	if share == 1 {
		return "100 %"
	}
	for digits := 2; ; digits++ {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(100*share, 'g', digits, 64), 64)
		if rounded < 100 || digits > 17 {
			return strconv.FormatFloat(rounded, 'g', -1, 64) + " %"
		}
	}
}

// Few joins the first most items of a list with commas, and adds the number of the others.
func Few(list []string, most int) string {
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// Or joins a list as alternatives: "1, 2 or 3".
func Or(list []string) string { return conjunction(list, " or ") }

// And joins a list as a conjunction: "1, 2 and 3".
func And(list []string) string { return conjunction(list, " and ") }

func conjunction(list []string, last string) string {
	n := len(list)
	if n < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:n-1], ", ") + last + list[n-1]
}

// Thousands returns x, rounded to a whole number, with commas as thousands separators.
func Thousands(x float64) string {
	digits := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Duration returns d without trailing units of zero: 10m instead of 10m0s.
func Duration(d time.Duration) string {
	s := d.String()
	for _, tail := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, tail) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// RoughDuration returns d with about two digits: 1m40s instead of 1m39.7s.
func RoughDuration(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return Duration(d)
}

// Bytes returns an amount of memory in binary units: "2 GiB", "1.25 GiB", "93.4 KiB". It is exact
// for multiples of a quarter of a unit, and has one decimal place otherwise.
func Bytes(n int64) string {
	unit, name := int64(1), "bytes"
	for _, larger := range []string{"KiB", "MiB", "GiB"} {
		if n < unit<<10 {
			break
		}
		unit, name = unit<<10, larger
	}
	amount := float64(n) / float64(unit)
	if unit > 1 && n%(unit/4) != 0 {
		amount = math.Round(amount*10) / 10
	}
	return strconv.FormatFloat(amount, 'f', -1, 64) + " " + name
}
