package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/worker"
)

// A session is the work of a command on one sweep. load, openFinished and openKnown begin it; connect, claim and work
// add what the command needs further; close releases everything.
type session struct {
	*plan.Plan
	digests map[string]string // identities of the plugins and built-in algorithms, by trial.Cell.Code

	environments map[string]schemas.Environment // environments of local plugins, by identity

	commands map[string]host.Command // how to start them, by identity; nil if the plan was read from a folder
	catalog  *host.Catalog           // nil if the plan was read from a folder
	kept     *plan.ProblemCache      // content of the data files, for the workers of this process
	folder   *folder.Folder          // nil before claim
	conn     *queue.Conn             // nil before connect

	closers []func() error
}

// onClose makes close call f, before the functions that were added earlier.
func (s *session) onClose(f func() error) { s.closers = append(s.closers, f) }

func (s *session) close() (err error) {
	for _, f := range slices.Backward(s.closers) {
		err = errors.Join(err, f())
	}
	return err
}

// load reads, checks and resolves a sweep file. args are its path, or - for stdin, and changes of it: see
// [sweep.Override].
func load(ctx context.Context, stdin io.Reader, args []string) (*session, error) {
	path, changes := args[0], args[1:]
	var src []byte
	var err error
	if path == "-" {
		path = "stdin"
		src, err = io.ReadAll(io.LimitReader(stdin, sweep.MaxSource+1))
	} else {
		src, err = disk.ReadFile(path, sweep.MaxSource)
	}
	if err != nil {
		return nil, wrong("read sweep file: %w", err)
	}
	if src, err = sweep.Override(src, changes); err != nil {
		return nil, usageError{err}
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s, err := resolve(ctx, strings.Join(append([]string{path}, changes...), " "), src, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s.File = full
	return s, nil
}

// resolve checks and resolves the text of the sweep file at path. Its relative paths start at dir.
func resolve(ctx context.Context, path string, src []byte, dir string) (*session, error) {
	file := sweep.Read(path, src)
	plugins, _ := file.PluginPaths(dir) // plan.Resolve returns their mistakes too
	c, err := catalog(ctx, plugins...)
	if err != nil {
		return nil, err
	}
	limits := plan.TimeLimits(file)
	c.LimitTimes(limits.Start, limits.Trial)
	s := &session{catalog: c, kept: &plan.ProblemCache{}}
	s.onClose(func() error { c.Close(); return nil })
	s.onClose(s.kept.Close)
	if s.Plan, err = plan.Resolve(ctx, file, c, plan.Options{Dir: dir, Problems: s.kept}); err == nil {
		err = s.identify(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// identify finds the identity of each algorithm of the plan, and how to start it.
func (s *session) identify(ctx context.Context) error {
	builtIn, err := builtInDigests()
	if err != nil {
		return err
	}
	s.digests, s.commands = map[string]string{}, map[string]host.Command{}
	s.environments = map[string]schemas.Environment{}
	for _, cell := range s.Cells {
		if drawn := cell.Problem.Plugin; drawn != nil {
			if _, err := s.startsBy(ctx, drawn.File, drawn.Digest); err != nil {
				return err
			}
		}
		code := cell.Code()
		if _, ok := s.digests[code]; ok {
			continue
		}
		digest := builtIn[code]
		if cell.Plugin != "" {
			if digest, err = s.catalog.Digest(cell.Plugin); err != nil {
				return err
			}
		}
		command, err := s.startsBy(ctx, cell.Plugin, digest)
		if err != nil {
			return err
		}
		s.digests[code] = command.Environment.Identify(digest)
		s.environments[s.digests[code]] = command.Environment
	}
	return nil
}

// startsBy returns the command that starts the plugin with that path and identity, and keeps it for the workers.
func (s *session) startsBy(ctx context.Context, path, digest string) (command host.Command, err error) {
	if command, ok := s.commands[digest]; ok {
		return command, nil
	}
	if command, err = s.catalog.Command(path); err == nil {
		command.Environment, err = s.catalog.Environment(ctx, path)
	}
	s.commands[digest] = command
	return command, err
}

// warn prints the warnings about the sweep file.
func (s *session) warn(c *cobra.Command) {
	for _, w := range s.Warnings {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: warning: %s\n", printable(w))
	}
}

// connect connects to the server at url, or to an embedded one if url is empty.
func (s *session) connect(ctx context.Context, url string, o queue.Options) (err error) {
	if url != "" {
		s.forgetEnvironments()
		s.conn, err = queue.Dial(ctx, url, o)
	} else {
		o.Credentials, o.TLS = "", queue.TLS{} // the environment's credentials belong to other servers
		var server *queue.Server
		if server, err = queue.Embed(o); err != nil {
			return err
		}
		s.onClose(func() error { server.Shutdown(); return nil })
		s.conn, err = server.Dial(ctx)
	}
	if err == nil {
		s.onClose(func() error { s.conn.Close(); return nil })
	}
	return err
}

// forgetEnvironments reduces identities to digests of the plugins' files, because workers elsewhere have
// environments of their own.
func (s *session) forgetEnvironments() {
	for code, identity := range s.digests {
		s.digests[code] = schemas.ProgramOf(identity)
	}
	clear(s.environments)
}

// claim takes the output folder dir for the sweep, and keeps the plan there.
func (s *session) claim(dir string, mode folder.Mode) error {
	saved, err := s.Encode(s.digests) // before the folder draws a secret seed
	if err != nil {
		return err
	}
	s.folder, err = folder.Claim(dir, s.Plan, mode)
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, cause) {
			return wrong("no output folder can be at %q (%w); choose another with --out", dir, err)
		}
	}
	if err != nil {
		return err
	}
	s.onClose(s.folder.Close)
	return s.folder.KeepPlan(saved)
}

// publish stores the data files and plugins of the sweep on a server, and returns their digests.
func (s *session) publish(ctx context.Context, conn *queue.Conn) (digests []string, err error) {
	put := func(digest, path string) error {
		found, err := conn.Files.Put(ctx, path)
		if err == nil && found != digest {
			err = fmt.Errorf("send file %q: its content has SHA-256 %s, not %s: it was changed", path, found, digest)
		}
		digests = append(digests, digest)
		return err
	}
	files := s.dataPaths()
	for _, digest := range slices.Sorted(maps.Keys(files)) {
		if err := put(digest, files[digest]); err != nil {
			return nil, err
		}
	}
	done := map[string]bool{"": true}
	for _, path := range s.pluginPaths() {
		if done[path] {
			continue
		}
		done[path] = true
		plugin, err := s.catalog.File(path)
		if err != nil {
			return nil, err
		}
		for _, f := range plugin.Files { // one for each platform
			if err := put(f.Digest, f.Path); err != nil {
				return nil, err
			}
		}
		if plugin.Set {
			list, err := conn.Files.PutBytes(ctx, plugin.List())
			if err != nil {
				return nil, err
			}
			digests = append(digests, list)
		}
	}
	return digests, nil
}

// pluginPaths returns the paths of the plugins of all cells; "" stands for the built-in one.
func (s *session) pluginPaths() (paths []string) {
	for _, cell := range s.Cells {
		paths = append(paths, cell.Plugin)
		if drawn := cell.Problem.Plugin; drawn != nil {
			paths = append(paths, drawn.File)
		}
	}
	return paths
}

// dataPaths returns the paths of the data files, by digest.
func (s *session) dataPaths() map[string]string {
	files := map[string]string{}
	for _, cell := range s.Cells {
		if file, digest := cell.Problem.File(); digest != "" {
			files[digest] = file
		}
	}
	return files
}

// work starts workers with that many slots in this process, calls do with the configuration of their pool, and stops
// them: they finish their jobs first. Monitor may be nil.
func (s *session) work(
	ctx context.Context, slots int, cfg pool.Config, monitor *worker.Monitor, do func(pool.Config) error,
) error {
	cfg.Conn, cfg.Digests, cfg.Environments = s.conn, s.digests, s.environments
	if slots == 0 {
		return do(cfg)
	}
	policy := sandboxOf(ctx)
	layers, err := sandbox.Probe(policy)
	if err != nil {
		return err
	}
	drain, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	var failed error // error of the workers; valid after ended is closed
	go func() {
		defer close(ended)
		failed = worker.Run(drain, context.WithoutCancel(ctx), worker.Config{
			Conn: s.conn, Slots: slots, Name: workerName(), Plugins: s.commands, Cache: fileCache(), Log: cfg.Log,
			Build: version(), Sandbox: policy, Layers: sandbox.Summary(layers),
			CacheSize: defaultCacheSize, Monitor: monitor, SharedProblem: s.kept.Take, Files: s.dataPaths(),
		})
	}()
	cfg.Workers = ended
	err = do(cfg)
	cancel()
	<-ended
	return errors.Join(err, failed)
}

// workAlone connects to a server in this process, and calls work without a log.
func (s *session) workAlone(ctx context.Context, slots int, do func(pool.Config) error) error {
	log := slog.New(slog.DiscardHandler)
	if err := s.connect(ctx, "", queue.Options{Name: "shatter " + s.Name, Log: log}); err != nil {
		return err
	}
	return s.work(ctx, slots, pool.Config{Log: log}, nil, do)
}

// openFinished opens the output folder of a sweep to run trials of it again. Relative paths of its sweep file start at
// base, or, if that is empty, where the sweep file was.
func openFinished(ctx context.Context, dir, base string) (*session, error) {
	record, err := folder.ReadRecord(dir)
	if err != nil {
		return nil, usageError{err}
	}
	if base == "" {
		base = filepath.Dir(record.File)
	}
	s, err := resolve(ctx, record.File, record.Source, base)
	if mistakes, ok := errors.AsType[sweep.Mistakes](err); ok {
		return nil, wrong("%w\nthis is the sweep file as it was run; its relative paths start at %q: "+
			"if its files have moved, name their folder with --base", mistakes, base)
	}
	if err != nil {
		return nil, err
	}
	if err := s.open(record); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the output folder of the sweep for reading.
func (s *session) open(record *folder.Record) (err error) {
	if s.folder, err = record.Open(s.Plan); err == nil {
		s.onClose(s.folder.Close)
		return nil
	}
	if version, ok := errors.AsType[*schemas.VersionError](err); ok {
		version.Release, err = record.Release(), version
	}
	return usageError{err}
}

// openKnown opens an output folder to read its ledger. Plugins and data files are needed only if the plan
// that the folder has saved cannot be read.
func openKnown(ctx context.Context, dir string) (*session, error) {
	record, err := folder.ReadRecord(dir)
	if err != nil {
		return nil, usageError{err}
	}
	s := &session{}
	var unread error
	if s.Plan, s.digests, unread = record.SavedPlan(); unread == nil {
		if unread = s.open(record); unread == nil {
			return s, nil
		}
		if _, outdated := errors.AsType[*schemas.VersionError](unread); outdated {
			return nil, unread
		}
	}
	s, lacking := openFinished(ctx, dir, "")
	if mistakes, ok := errors.AsType[sweep.Mistakes](lacking); ok {
		lacking = mistakes // without the advice about --base
	}
	if lacking != nil {
		return nil, wrong("the last run in %q has not ended, and to show what its ledger knows, finished cells too, takes "+
			"all that the sweep was run with: %v\nnor can its ledger/plan be used instead: %w", dir, lacking, unread)
	}
	return s, nil
}

// A knownResult is a folder with the files of a result: the output folder of a sweep that has ended, or a temporary one
// with the files that its ledger gives so far. It must be closed.
type knownResult struct {
	Dir string // holds the files

	temporary bool // close removes Dir
}

func (k *knownResult) close() {
	if k.temporary {
		_ = os.RemoveAll(k.Dir) // what stays is the system's to remove
	}
}

// knownResults are the results of several folders. They must be closed, also after an error.
type knownResults []*knownResult

func (all knownResults) close() {
	for _, known := range all {
		known.close()
	}
}

// openEach returns the result of each folder, in order, up to the first that cannot be opened.
func openEach(c *cobra.Command, dirs []string) (all knownResults, err error) {
	for _, dir := range dirs {
		known, err := openResult(c, dir)
		if err != nil {
			return all, err
		}
		all = append(all, known)
	}
	return all, nil
}

// openResults returns the result of a folder, or the joined results of several.
func openResults(c *cobra.Command, dirs []string) (_ *knownResult, err error) {
	if len(dirs) == 1 {
		return openResult(c, dirs[0])
	}
	joined := &knownResult{temporary: true}
	if joined.Dir, err = os.MkdirTemp("", "shatter-joined-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			joined.close()
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // a reader of stdout that leaves is an error, after which close is called
	for i, dir := range dirs {
		if slices.Contains(dirs[:i], dir) {
			return nil, wrong("%q is named twice", dir)
		}
	}
	opened, err := openEach(c, dirs)
	defer opened.close()
	if err != nil {
		return nil, err
	}
	var m schemas.Manifest
	var sources []result.Source
	var rechecks []*schemas.Rechecks
	var partial []string
	for i, dir := range dirs {
		of := folder.ReadManifest(opened[i].Dir)
		sources, rechecks = append(sources, result.Source{Name: dir, Dir: opened[i].Dir}), append(rechecks, of.Rechecks)
		m.Metrics = append(m.Metrics, of.Metrics...)
		if of.Partial != "" {
			partial = append(partial, dir+": "+of.Partial)
		}
	}
	ids, err := result.Join(sources, joined.Dir)
	if err != nil {
		return nil, explainRead(strings.Join(dirs, " "), err)
	}
	m.Partial = strings.Join(partial, "; ")
	m.Name, m.Rechecks = strings.Join(dirs, " and "), result.JoinRechecks(rechecks, ids)
	return joined, folder.WriteManifest(joined.Dir, m)
}

// openResult returns the result of the sweep whose output folder is dir. If a run has not ended, so that the files in
// the folder do not match its ledger, it makes them from the ledger in a temporary folder, and prints the sweep's
// progress on stderr.
func openResult(c *cobra.Command, dir string) (*knownResult, error) {
	if folder.HasFinalResult(dir) {
		return &knownResult{Dir: dir}, nil
	}
	s, err := openKnown(c.Context(), dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.close() }()
	temp, err := os.MkdirTemp("", "shatter-known-")
	if err != nil {
		return nil, err
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of stdout that leaves is an error, after which close is called
	k := &knownResult{temp, true}
	if err := k.fill(c, s); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// fill writes the files that the sweep's ledger gives so far.
func (k *knownResult) fill(c *cobra.Command, s *session) error {
	found, running, err := s.writeKnown(k.Dir)
	if err != nil {
		return err
	}
	dir, stderr := s.folder.Dir, c.ErrOrStderr()
	for _, d := range found.Damaged {
		fmt.Fprintf(stderr, "shatter: the ledger is damaged, and a part of it is left out: %s; "+
			"running the sweep again repeats its trials\n", d)
	}
	switch {
	case found.Empty() && running:
		return wrong("nothing is known of %q yet: its sweep is running, and no trial has come back; "+
			"look again in a moment", dir)
	case found.Empty() && s.folder.Fetched != nil:
		return wrong("nothing is known of %q yet: %s", dir, s.folder.DescribeFetched())
	case found.Empty():
		return wrong("nothing is known of %q: its sweep was interrupted before a trial came back; run it again to go on", dir)
	case found.Partial != "":
		fmt.Fprintf(stderr, "shatter: partial: %s\n", found.Partial)
	}
	return nil
}

// writeKnown writes the files that the sweep's ledger gives so far into a folder. running reports
// whether a run is at work.
func (s *session) writeKnown(to string) (found *folder.Known, running bool, err error) {
	running, err = ledger.InUse(filepath.Join(s.folder.Dir, "ledger"))
	if err != nil {
		return nil, false, err
	}
	share := defaultRecheck
	if rechecks := folder.ReadManifest(s.folder.Dir).Rechecks; rechecks != nil {
		share = rechecks.Share
	}
	found, err = s.folder.WriteKnown(to, s.digests, running, audit.Due(s.folder, share))
	return found, running, err
}
