package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/plugins/python"
)

func pluginBuildCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "build FILE.py [FILE.py...]",
		Short: "Pack a plugin in Python into one file, with the SDK",
		Long: `Pack a plugin in Python, and the files of yours that it imports, into one program: FILE without .py, if no
other is named. The SDK is in it, so the program needs Python with grpcio, protobuf and numpy, and no other file. The
same files give the same bytes everywhere. The first line of FILE.py, such as #!/usr/bin/env python3, names the
interpreter.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := buildPython(args, out); err != nil {
				return usageError{fmt.Errorf("plugin build: %w", err)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "the program's file")
	return c
}

// maxPython bounds a file of Python, in bytes.
const maxPython = 16 << 20

// buildPython packs the Python files at the paths into the program out; "": beside the first, without
// its ending.
func buildPython(paths []string, out string) error {
	files := make([]python.File, len(paths))
	for i, path := range paths {
		text, err := disk.ReadFile(path, maxPython)
		if err != nil {
			return err
		}
		files[i] = python.File{Name: filepath.Base(path), Text: text}
	}
	program, err := python.Build(files...)
	if err != nil {
		return err
	}
	if out == "" {
		out = strings.TrimSuffix(paths[0], ".py")
	}
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return fmt.Errorf("%q is a folder: name a file with --out", out)
	}
	if err := os.WriteFile(out, program, 0o777); err != nil {
		return err
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	return os.Chmod(out, info.Mode()|info.Mode()>>2&0o111) // who may read an older file may execute it
}
