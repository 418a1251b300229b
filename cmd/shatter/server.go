package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// serverVariable is the environment variable that stands for --server.
const serverVariable = "SHATTER_SERVER"

// serverFlags holds the URL of the NATS server and the credentials for it.
type serverFlags struct {
	url, credentials string
	tls              queue.TLS
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "server", "",
		"`URL` of the NATS server with JetStream, tls://host:port (default $"+serverVariable+")")
	f.registerAccess(flags)
}

// access lists the flags that name files, the variables that stand for them, and where they go.
func (f *serverFlags) access() []fileFlag {
	return []fileFlag{
		{"creds", "SHATTER_CREDS", &f.credentials, "credentials `file` from shatter cluster"},
		{"tls-ca", "SHATTER_TLS_CA", &f.tls.CA, "`file` with the authority of the server's certificate, in PEM"},
		{"tls-cert", "SHATTER_TLS_CERT", &f.tls.Cert,
			"`file` with the client's certificate, if the server requires it, in PEM"},
		{"tls-key", "SHATTER_TLS_KEY", &f.tls.Key, "`file` with the key of --tls-cert, in PEM"},
	}
}

// fileFlag is a flag that names a file.
type fileFlag struct {
	name, variable string
	value          *string
	usage          string
}

func (f *serverFlags) registerAccess(flags *pflag.FlagSet) {
	for _, x := range f.access() {
		flags.StringVar(x.value, x.name, "", x.usage+" (default $"+x.variable+")")
	}
}

// resolve takes the values of missing flags from the environment, except the URL. It refuses a URL with a password,
// because all users of this machine could read it in the list of processes.
func (f *serverFlags) resolve() error {
	if strings.Contains(f.url, "@") && f.url != os.Getenv(serverVariable) { // from where check takes it
		return wrong("--server %s: everybody on this machine can see a password in a command line; "+
			"put the URL into the variable %s, or use --creds and a file", queue.Redact(f.url), serverVariable)
	}
	for _, x := range f.access() {
		*x.value = cmp.Or(*x.value, os.Getenv(x.variable))
	}
	if (f.tls.Cert == "") != (f.tls.Key == "") {
		return wrong("--tls-cert and --tls-key go together")
	}
	return nil
}

// check completes the flags, and refuses to go without a server.
func (f *serverFlags) check() error {
	if err := f.resolve(); err != nil {
		return err
	}
	if f.url = cmp.Or(f.url, os.Getenv(serverVariable)); f.url == "" {
		return wrong("--server is needed, or the variable " + serverVariable +
			": the URL of the NATS server that coordinators and workers use, nats://host:port")
	}
	return nil
}

// options returns the options of a connection that requires credentials of one of the roles.
func (f *serverFlags) options(name string, log *slog.Logger, roles ...queue.Role) queue.Options {
	return queue.Options{Name: name, Credentials: f.credentials, TLS: f.tls, Roles: roles, Log: log}
}

// The times that a command waits for a server that it has reached.
const (
	serverPatience  = 15 * time.Second // for answers
	contentPatience = 30 * time.Second // for content to move, over a slow line too
)

// remote is a connection to a server, with the sweeps that were submitted there. Close it.
type remote struct {
	conn     *queue.Conn
	registry *queue.Registry
}

// open connects to the server for a command.
func (f *serverFlags) open(c *cobra.Command) (*remote, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	options := f.options(c.CommandPath()+" "+workerName(), nil, queue.Submitter, queue.Coordinator)
	options.Patience = contentPatience
	conn, err := queue.Dial(c.Context(), f.url, options)
	if err != nil {
		return nil, err
	}
	r := &remote{conn: conn}
	if err := r.prepare(c.Context()); err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

// prepare finds the registry of sweeps on the server, or makes it.
func (r *remote) prepare(ctx context.Context) error {
	return r.within(ctx, func(ctx context.Context) (err error) {
		r.registry, err = r.conn.Registry(ctx)
		return err
	})
}

func (r *remote) close() { r.conn.Close() }

// asking makes c a command that asks something of a server, and prints the answer as text with print,
// or as JSON.
func asking[T any](
	c *cobra.Command, ask func(r *remote, c *cobra.Command, args []string) (T, error),
	print func(T, *cobra.Command) error,
) *cobra.Command {
	var server serverFlags
	var format string
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := server.open(c)
		if err != nil {
			return err
		}
		defer r.close()
		answer, err := ask(r, c, args)
		if err != nil {
			return err
		}
		if format == "json" {
			return writeJSON(c.OutOrStdout(), answer)
		}
		return print(answer, c)
	}
	server.register(c.Flags())
	addOutput(c, &format, listFormats, "")
	return c
}

// within calls do with a context that ends when the server takes too long.
func (r *remote) within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return r.conn.NoAnswerError(serverPatience, err)
	}
	return err
}

// find returns what the registry holds of the sweep that id names.
func (r *remote) find(ctx context.Context, id string) (record *lead.Record, err error) {
	err = r.within(ctx, func(ctx context.Context) error {
		e, err := r.registry.Find(ctx, id)
		if err != nil {
			return err
		}
		record, err = lead.ReadRecord(e)
		return err
	})
	return record, err
}

// personName returns who sits here, for people elsewhere: user@host.
func personName() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s@%s", name, host)
}
