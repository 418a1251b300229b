package authority

import (
	"bytes"
	_ "embed"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/disk"
)

//go:embed nats.conf.tmpl
var confText string

var confTemplate = template.Must(template.New(confFile).Parse(confText))

// conf is what the template of a server's configuration is filled with.
type conf struct {
	Host     string
	Client   string   // address for clients
	Peer     string   // address for the other servers
	Routes   []string // to the other servers; none: it is the only one
	Operator string   // token
	System   string   // account of the servers
	Accounts []token
}

type token struct{ Name, Key, Token string }

// configure writes the configuration of each server.
func (c *Cluster) configure() error {
	shared, err := c.tokens()
	if err != nil {
		return err
	}
	for _, host := range c.Hosts {
		one := *shared
		one.Host, one.Client, one.Peer = host, net.JoinHostPort(host, "4222"), net.JoinHostPort(host, "6222")
		for _, other := range c.Hosts {
			if other != host {
				one.Routes = append(one.Routes, "tls://"+net.JoinHostPort(other, "6222"))
			}
		}
		if err := os.MkdirAll(c.ServerDir(host), 0o700); err != nil { // it may have been moved to the server
			return err
		}
		var text bytes.Buffer
		if err := confTemplate.Execute(&text, one); err != nil {
			return err
		}
		if err := disk.WriteSecret(filepath.Join(c.ServerDir(host), confFile), disk.Bytes(text.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// tokens returns what is the same for all servers: the accounts, signed by the operator.
func (c *Cluster) tokens() (*conf, error) {
	operator, err := nkeys.FromSeed([]byte(c.Operator))
	if err != nil {
		return nil, err
	}
	out := &conf{Operator: c.Token, System: c.System}
	system := jwt.NewAccountClaims(c.System)
	system.Name = "system"
	claims := []*jwt.AccountClaims{system}
	for _, r := range roles {
		a, err := c.account(r)
		if err != nil {
			return nil, err
		}
		claims = append(claims, a)
	}
	for _, a := range claims {
		text, err := a.Encode(operator)
		if err != nil {
			return nil, err
		}
		out.Accounts = append(out.Accounts, token{a.Name, a.Subject, text})
	}
	return out, nil
}

// account describes the account of a role.
func (c *Cluster) account(r bus.Role) (*jwt.AccountClaims, error) {
	a := jwt.NewAccountClaims(c.Accounts[r].Key)
	a.Name = string(r) + "s"
	signer, err := nkeys.FromSeed([]byte(c.Accounts[r].Signer))
	if err != nil {
		return nil, err
	}
	scope := jwt.NewUserScope()
	scope.Role = string(r)
	if scope.Key, err = signer.PublicKey(); err != nil {
		return nil, err
	}
	if grants := bus.GrantsOf(r); r == bus.Coordinator {
		const unlimited = jwt.NoLimit
		a.Limits.JetStreamLimits = jwt.JetStreamLimits{
			MemoryStorage: unlimited, DiskStorage: unlimited, Streams: unlimited, Consumer: unlimited,
		}
	} else {
		scope.Template.Pub.Allow.Add(grants.Publish...)
		scope.Template.Sub.Allow.Add(grants.Subscribe...)
		scope.Template.Sub.Allow.Add(bus.InboxOf("{{name()}}") + ".>")
		a.Imports = c.imports(grants)
	}
	a.Exports = exports(r)
	a.SigningKeys.AddScopedSigner(scope)
	for _, x := range c.Issued {
		if x.Role == r && !x.Revoked.IsZero() {
			for _, key := range x.Keys {
				a.RevokeAt(key, x.Revoked)
			}
		}
	}
	return a, nil
}

// subjects returns the subjects that anybody of a role may use, whatever his name.
func subjects(granted []string) []jwt.Subject {
	var list []jwt.Subject
	for _, s := range granted {
		list = append(list, jwt.Subject(strings.ReplaceAll(s, "{{name()}}", "*")))
	}
	return list
}

// exports lists what the account of a role lets the others have: requests go to the coordinators'
// alone.
func exports(from bus.Role) (list jwt.Exports) {
	add := func(granted []string, kind jwt.ExportType) {
		for _, s := range subjects(granted) {
			same := func(e *jwt.Export) bool { return e.Subject == s && e.Type == kind }
			if !slices.ContainsFunc(list, same) {
				list.Add(&jwt.Export{Name: string(s), Subject: s, Type: kind})
			}
		}
	}
	for _, r := range roles[1:] {
		grants := bus.GrantsOf(r)
		if from == bus.Coordinator {
			add(grants.Publish, jwt.Service)
		}
		if from == grants.From {
			add(grants.Subscribe, jwt.Stream)
		}
	}
	return list
}

// imports lists what an account with these grants has from others.
func (c *Cluster) imports(grants bus.Grants) (list jwt.Imports) {
	add := func(granted []string, kind jwt.ExportType, from bus.Role) {
		for _, s := range subjects(granted) {
			list.Add(&jwt.Import{Name: string(s), Subject: s, Account: c.Accounts[from].Key, Type: kind})
		}
	}
	add(grants.Publish, jwt.Service, bus.Coordinator)
	add(grants.Subscribe, jwt.Stream, grants.From)
	return list
}

// serverDirs makes the folders of the servers.
func (c *Cluster) serverDirs() error {
	for _, host := range c.Hosts {
		if err := os.Mkdir(c.ServerDir(host), 0o700); err != nil {
			return err
		}
	}
	return nil
}
