package authority

import (
	"bytes"
	_ "embed"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/queue"
)

//go:embed nats.conf.tmpl
var confText string

var confTemplate = template.Must(template.New(confFile).Parse(confText))

// A conf is the data for the template of a server's configuration.
type conf struct {
	Host     string
	Client   string   // address for clients
	Peer     string   // address for the other servers
	Routes   []string // routes to the other servers; none: single server
	Operator string   // token of the operator
	System   string   // system account of the servers
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
		if err := os.MkdirAll(c.ServerDir(host), 0o700); err != nil { // the folder may have been moved to the server
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

// tokens returns the accounts, signed by the operator. All servers share them.
func (c *Cluster) tokens() (*conf, error) {
	operator, err := nkeys.FromSeed([]byte(c.Operator))
	if err != nil {
		return nil, err
	}
	out := &conf{Operator: c.Token, System: c.System}
	system := jwt.NewAccountClaims(c.System)
	system.Name = "system"
	claims := []*jwt.AccountClaims{system}
	for _, name := range slices.Sorted(maps.Keys(c.Teams)) {
		a, err := c.account(name)
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

// account describes the account of a team: each role has a signing key, and the server limits all
// credentials that were signed with it.
func (c *Cluster) account(team string) (*jwt.AccountClaims, error) {
	const unlimited = jwt.NoLimit
	a := jwt.NewAccountClaims(c.Teams[team].Key)
	a.Name = team
	a.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: unlimited, DiskStorage: unlimited, Streams: unlimited, Consumer: unlimited,
	}
	for _, r := range roles {
		scope := jwt.NewUserScope()
		signer, err := nkeys.FromSeed([]byte(c.Teams[team].Signers[r]))
		if err == nil {
			scope.Key, err = signer.PublicKey()
		}
		if err != nil {
			return nil, err
		}
		scope.Role = string(r)
		grants := queue.GrantsOf(r)
		scope.Template.Pub.Allow.Add(grants.Publish...)
		scope.Template.Sub.Allow.Add(grants.Subscribe...)
		a.SigningKeys.AddScopedSigner(scope)
	}
	for _, x := range c.Issued {
		if x.Team == team && !x.Revoked.IsZero() {
			for _, key := range x.Keys {
				a.RevokeAt(key, x.Revoked)
			}
		}
	}
	return a, nil
}
