package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/bus"
)

// serverVariable is the environment variable that stands for --server.
const serverVariable = "SHATTER_SERVER"

// serverFlags says where the NATS server is.
type serverFlags struct{ url, credentials string }

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "server", os.Getenv(serverVariable),
		"NATS server with JetStream, nats://host:port (default $"+serverVariable+")")
	flags.StringVar(&f.credentials, "creds", "", "NATS credentials file")
}

// dialer is bus.Dial, or what does its work.
type dialer func(ctx context.Context, url string, o bus.Options) (*bus.Conn, error)

// check refuses to go without a server.
func (f *serverFlags) check() error {
	if f.url == "" {
		return usageError{errors.New("--server is needed, or the variable " + serverVariable +
			": the URL of the NATS server that coordinators and workers use, nats://host:port")}
	}
	return nil
}

// dial connects to the server.
func (f *serverFlags) dial(ctx context.Context, name string, log *slog.Logger, dial dialer) (*bus.Conn, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return dial(ctx, f.url, bus.Options{Name: name, Credentials: f.credentials, Log: log})
}

// serverPatience is the time that a command waits for answers of a server that it has reached.
const serverPatience = 15 * time.Second

// remote is a connection to a server, with the sweeps that were submitted there. Close it.
type remote struct {
	conn     *bus.Conn
	registry *bus.Registry
}

// open connects to the server for a command.
func (f *serverFlags) open(c *cobra.Command) (*remote, error) {
	conn, err := f.dial(c.Context(), c.CommandPath()+" "+workerName(), slog.New(slog.DiscardHandler), bus.Dial)
	if err != nil {
		return nil, err
	}
	r := &remote{conn: conn}
	err = r.within(c.Context(), func(ctx context.Context) (err error) {
		r.registry, err = conn.Registry(ctx)
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

func (r *remote) close() { r.conn.Close() }

// asking makes c a command that asks something of a server, and prints the answer as text with print,
// or as JSON.
func asking[T any](
	c *cobra.Command, ask func(r *remote, c *cobra.Command, args []string) (T, error), print func(T, *cobra.Command) error,
) *cobra.Command {
	var server serverFlags
	var format string
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkOutput(c.OutOrStdout(), format, listFormats); err != nil {
			return err
		}
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
		return r.conn.Silent(serverPatience, err)
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
