package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	goversion "go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	texttemplate "text/template"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/python"
)

// scaffold holds the templates of what plugin new writes.
//
//go:embed scaffold
var scaffold embed.FS

// sdkModule is the module that holds the SDK in Go.
const sdkModule = "github.com/shatterlab/shatter"

// A newPlugin holds the values that the templates of a new plugin use.
type newPlugin struct {
	Name, Lang      string
	Task            string    // task of the algorithm, or "problem"
	Module          string    // Python module: the name with underscores
	Main, Test      string    // files of the plugin and of its tests
	Build, UnitTest string    // commands
	SDK             sdkSource // zero value: the SDK of this binary
}

// An sdkSource is the source of the SDK of a new plugin.
type sdkSource struct {
	Checkout string // the folder of the checkout that this binary was built in; "": it was built from a version
	Version  string // release of this binary, such as v0.1.0
	release  string // Go release, such as 1.26.0
}

var (
	pluginName      = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	pluginLanguages = []string{"go", "python"}
	pluginTasks     = []string{string(algo.Learn), string(algo.Predict), string(algo.Online)}
	pluginKinds     = append(slices.Clip(pluginTasks), "problem")
)

func pluginNewCommand() *cobra.Command {
	var p newPlugin
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new plugin with tests and a sweep",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p.Name = args[0]
			files, err := p.files()
			if err == nil {
				err = p.write(files)
			}
			if err != nil {
				return wrong("plugin new: %w", err)
			}
			for _, f := range files {
				fmt.Fprintln(c.OutOrStdout(), filepath.Join(p.Name, f.path))
			}
			if p.Lang == "go" && p.SDK.Checkout != "" {
				tidy := exec.CommandContext(c.Context(), "go", "mod", "tidy")
				tidy.Dir = p.Name
				if said, err := tidy.CombinedOutput(); err != nil {
					fmt.Fprintf(c.ErrOrStderr(), "note: go.mod lists all requirements of Shatter, because "+
						"go mod tidy failed in %s: %v\n%s", p.Name, err, said)
				}
			}
			fmt.Fprintf(c.ErrOrStderr(), "next: cd %s && %s && shatter plugin test ./%s && shatter run sweep.yaml\n",
				p.Name, p.Build, p.Name)
			return nil
		},
	}
	c.Flags().StringVar(&p.Lang, "lang", "go", "`language`: "+strings.Join(pluginLanguages, ", "))
	c.Flags().StringVar(&p.Task, "task", string(algo.Learn),
		"`task` of the algorithm, or problem: "+strings.Join(pluginKinds, ", "))
	return c
}

// A scaffoldFile is a file of a new plugin.
type scaffoldFile struct {
	path string
	text []byte
}

// files returns the files of the plugin, and fills in what follows from its name, language and task.
func (p *newPlugin) files() ([]scaffoldFile, error) {
	switch {
	case !pluginName.MatchString(p.Name):
		return nil, fmt.Errorf("%q: use lower case letters, digits and single hyphens, as in my-learner", p.Name)
	case !slices.Contains(pluginLanguages, p.Lang):
		return nil, fmt.Errorf("--lang %q: one of %s is needed", p.Lang, wording.Or(pluginLanguages))
	case !slices.Contains(pluginKinds, p.Task):
		return nil, fmt.Errorf("--task %q: one of %s is needed", p.Task, wording.Or(pluginKinds))
	}
	if p.Lang == "python" {
		return p.pythonFiles()
	}
	return p.goFiles()
}

func (p *newPlugin) pythonFiles() ([]scaffoldFile, error) {
	p.Module = strings.ReplaceAll(p.Name, "-", "_")
	if p.SDK == (sdkSource{}) {
		p.SDK, _ = ownSDK() // for the README alone: the program gets the SDK that is in this binary
	}
	p.Main, p.Test = p.Module+".py", p.Module+"_test.py"
	p.Build = "shatter plugin build " + p.Main
	if p.Module != p.Name {
		p.Build += " --out " + p.Name
	}
	p.UnitTest = fmt.Sprintf("PYTHONPATH=%s python3 -m unittest %s", p.Name, p.Test)
	return p.rendered(".py.tmpl", "_test.py.tmpl", "__pycache__/\n")
}

func (p *newPlugin) goFiles() ([]scaffoldFile, error) {
	p.Main, p.Test, p.UnitTest = "main.go", "main_test.go", "go test ./..."
	p.Build = "go build -trimpath -buildvcs=false -ldflags=-s -o " + p.Name + " ."
	if p.SDK == (sdkSource{}) {
		var err error
		if p.SDK, err = ownSDK(); err != nil {
			return nil, err
		}
	}
	mod, sum, err := goModule("example.com/"+p.Name, p.SDK)
	if err != nil {
		return nil, err
	}
	if sum == nil {
		p.Build = "go mod tidy && " + p.Build
	}
	files, err := p.rendered(".go.tmpl", "_test.go.tmpl", "")
	files = append(files, scaffoldFile{"go.mod", mod})
	if sum != nil {
		files = append(files, scaffoldFile{"go.sum", sum})
	}
	return files, err
}

// rendered returns the files that are made of templates. The program and its tests have the given endings.
func (p *newPlugin) rendered(main, test, ignored string) (files []scaffoldFile, err error) {
	kind := p.Lang + "/algorithm"
	if p.Task == "problem" {
		kind = p.Lang + "/problem"
	}
	for _, f := range []struct{ path, template string }{
		{p.Main, kind + main},
		{p.Test, kind + test},
		{"sweep.yaml", "sweep.yaml.tmpl"},
		{"README.md", "README.md.tmpl"},
		{".github/workflows/test.yml", "workflow.yml.tmpl"},
	} {
		raw, err := scaffold.ReadFile("scaffold/" + f.template)
		if err != nil {
			return nil, err
		}
		t, err := texttemplate.New(f.template).Delims("<%", "%>").Parse(string(raw))
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, p); err != nil {
			return nil, err
		}
		files = append(files, scaffoldFile{f.path, text.Bytes()})
	}
	return append(files, scaffoldFile{".gitignore", []byte("/" + p.Name + "\n/shatter-out/\n" + ignored)}), nil
}

// write writes the files into the folder that is named like the plugin, which must be empty or new.
func (p *newPlugin) write(files []scaffoldFile) error {
	entries, err := os.ReadDir(p.Name)
	switch {
	case len(entries) > 0:
		return fmt.Errorf("the folder %q has files in it: choose another name, or another place", p.Name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, f := range files {
		path := filepath.Join(p.Name, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := create(path, f.text); err != nil {
			return err
		}
	}
	return nil
}

// ownSDK returns the SDK that this binary was built with.
func ownSDK() (sdkSource, error) {
	_, file, _, _ := runtime.Caller(0)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return sdkOf(file, info)
}

// sdkOf returns the SDK of a binary to which this source file belongs: that of the checkout that it was built in, if
// that is still there, or of the version that it was built from.
func sdkOf(file string, info *debug.BuildInfo) (sdkSource, error) {
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	inCache := strings.Contains(root, "@v")
	if err == nil && bytes.HasPrefix(mod, []byte("module "+sdkModule+"\n")) && filepath.IsAbs(root) && !inCache {
		return sdkSource{Checkout: root}, nil
	}
	if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.Contains(v, "+dirty") {
		release := strings.TrimPrefix(goversion.Lang(info.GoVersion), "go") + ".0"
		return sdkSource{Version: v, release: release}, nil
	}
	return sdkSource{}, fmt.Errorf("this binary does not know its version or its checkout: build it with go build in a "+
		"checkout, or with go install %s/cmd/shatter@latest", sdkModule)
}

// goModule returns go.mod and go.sum of a module that uses the SDK: that of a checkout, with the requirements of all of
// Shatter, from which go mod tidy selects; or of a version, without a go.sum.
func goModule(module string, sdk sdkSource) (mod, sum []byte, err error) {
	if sdk.Checkout == "" {
		const form = "module %s\n\ngo %s\n\nrequire %s %s\n"
		return fmt.Appendf(nil, form, module, sdk.release, sdkModule, sdk.Version), nil, nil
	}
	text, err := os.ReadFile(filepath.Join(sdk.Checkout, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	needed := strings.TrimPrefix(string(text), "module "+sdkModule+"\n")
	mod = fmt.Appendf(nil, "module %s\n\nrequire %s v0.0.0\n\nreplace %s => %s\n%s", module, sdkModule, sdkModule,
		sdk.Checkout, needed)
	sum, err = os.ReadFile(filepath.Join(sdk.Checkout, "go.sum"))
	return mod, sum, err
}

func pluginBuildCommand() *cobra.Command {
	var out string
	var include []string
	c := &cobra.Command{
		Use:   "build FILE.py [FILE.py...]",
		Short: "Pack a plugin in Python and the SDK into one file",
		Long: `Pack a plugin in Python, and the files of yours that it imports, into one program: FILE without .py,
if no other is named. The SDK is in it, so the program needs Python with grpcio, protobuf and numpy,
and no other file. The same files give the same bytes everywhere. The first line of FILE.py, such as
#!/usr/bin/env python3, names the interpreter.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			notes, err := buildPython(args, include, out)
			if err != nil {
				return wrong("plugin build: %w", err)
			}
			for _, note := range notes {
				fmt.Fprintln(c.ErrOrStderr(), "note:", note)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` of the program (default FILE without .py)")
	c.Flags().StringArrayVar(&include, "include", nil,
		"other `file` that the plugin reads, by shatter.read_file(NAME) (repeatable)")
	return c
}

// maxPython bounds a file of Python, in bytes.
const maxPython = 16 << 20

// buildPython packs the Python files at the paths, and other files, into the program out; "": next
// to the first file, without its ending. It returns notes on modules that a user forgot.
func buildPython(paths, include []string, out string) (notes []string, err error) {
	files := make([]python.File, len(paths)+len(include))
	for i, path := range slices.Concat(paths, include) {
		text, err := disk.ReadFile(path, maxPython)
		if err != nil {
			return nil, err
		}
		files[i] = python.File{Name: filepath.Base(path), Text: text, Data: i >= len(paths)}
	}
	program, err := python.Build(files...)
	if err != nil {
		return nil, err
	}
	if out == "" {
		out = strings.TrimSuffix(paths[0], ".py")
	}
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%q is a folder: name a file with --out", out)
	}
	if err := os.WriteFile(out, program, 0o777); err != nil {
		return nil, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return nil, err
	}
	notes = localImports(filepath.Dir(paths[0]), files)
	return notes, os.Chmod(out, info.Mode()|info.Mode()>>2&0o111) // who may read an older file may execute it
}

// imports matches an import of Python, and its modules.
var imports = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+(\w+)|import[ \t]+([\w., \t]+))`)

// importedModules returns the modules that a text in Python imports, without their parts after a dot.
func importedModules(text string) (names []string) {
	for _, m := range imports.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			name, _, _ = strings.Cut(name, ".")
			names = append(names, name)
		}
	}
	return names
}

// localImports describes the modules in a folder that a program imports and does not contain.
func localImports(dir string, files []python.File) (notes []string) {
	has := map[string]bool{"": true, "shatter": true}
	for _, f := range files {
		has[strings.TrimSuffix(f.Name, ".py")] = true
	}
	for _, f := range files {
		if f.Data {
			continue
		}
		for _, name := range importedModules(string(f.Text)) {
			if has[name] {
				continue
			}
			has[name] = true
			note, path := f.Name+" imports "+name+", which is not in the program: ", filepath.Join(dir, name)
			if _, err := os.Stat(path + ".py"); err == nil {
				notes = append(notes, note+"name "+path+".py too")
			} else if info, err := os.Stat(path); err == nil && info.IsDir() {
				notes = append(notes, note+"a folder cannot be packed; move its code into files, or install it")
			}
		}
	}
	return notes
}
