package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// knownResult is a folder with the files of a result: the output folder of a sweep that has ended,
// or what is known of one that has not. Close it.
type knownResult struct {
	Dir string // holds the files
}

// openResult finds what is known of the sweep whose output folder is dir.
func openResult(_ *cobra.Command, dir string) (*knownResult, error) { return &knownResult{dir}, nil }

func (k *knownResult) close() {}

// whereFlag holds the conditions of --where, which choose rows.
type whereFlag struct{ texts []string }

func (f *whereFlag) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.texts, "where", nil,
		"keep the rows with this value in a column: key=value, or key=value,value; several times: all of them hold")
}

// conditions returns the conditions of the flag.
func (f *whereFlag) conditions() ([]sheet.Condition, error) {
	all, err := sheet.ParseConditions(f.texts)
	if err != nil {
		return nil, usageError{fmt.Errorf("--where %w", err)}
	}
	return all, nil
}

// filter returns the sheet with the rows that the flag keeps.
func (f *whereFlag) filter(s *sheet.Sheet) (*sheet.Sheet, error) {
	all, err := f.conditions()
	if err != nil {
		return nil, err
	}
	kept, err := s.Where(all...)
	if err != nil {
		return nil, usageError{fmt.Errorf("--where %w", err)}
	}
	return kept, nil
}
