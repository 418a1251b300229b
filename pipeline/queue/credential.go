package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A Credential is what a credentials file says of its holder.
type Credential struct {
	Name    string
	Role    Role      // "": it is not of a cluster that `shatter cluster init` has set up
	Expires time.Time // zero: never
}

// mostCredentials bounds a credentials file, in bytes.
const mostCredentials = 64 << 10

// readCredential reads a credentials file: what it says, its token, and what signs for its holder.
func readCredential(path string) (who Credential, token string, key nkeys.KeyPair, err error) {
	text, err := disk.ReadFile(path, mostCredentials)
	if errors.Is(err, fs.ErrNotExist) {
		return who, "", nil, err
	}
	if err == nil {
		who, token, key, err = decodeCredential(text)
	}
	if err != nil {
		err = fmt.Errorf("%q is no credentials file: %w", path, err)
	}
	return who, token, key, err
}

// decodeCredential reads the content of a credentials file.
func decodeCredential(text []byte) (who Credential, token string, key nkeys.KeyPair, err error) {
	if token, err = jwt.ParseDecoratedJWT(text); err != nil {
		return who, "", nil, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return who, "", nil, err
	}
	if key, err = jwt.ParseDecoratedUserNKey(text); err != nil {
		return who, "", nil, errors.New("it has no key")
	}
	who.Name = claims.Name
	for _, r := range []Role{Coordinator, Submitter, Worker} {
		if slices.Contains(claims.Tags, RoleTag(r)) {
			who.Role = r
		}
	}
	if claims.Expires > 0 {
		who.Expires = time.Unix(claims.Expires, 0)
	}
	return who, token, key, nil
}

// RoleTag returns the tag that says in a credential what its role is. What its holder may do, the
// server knows from who has signed it.
func RoleTag(r Role) string { return "shatter-" + string(r) }

// identify reads the credentials file of the options, and refuses one that is of no use here.
func (c *Conn) identify() (err error) {
	path := c.opts.Credentials
	if path == "" {
		return nil
	}
	if c.who, _, _, err = readCredential(path); err != nil {
		return c.misfit("credentials cannot be used", err, "give the file that `shatter cluster` has written with --creds")
	}
	if c.opts.Roles != nil && c.who.Role != "" && !slices.Contains(c.opts.Roles, c.who.Role) {
		return c.misfit("credentials are for something else",
			fmt.Errorf("%q is that of the %s %s", path, c.who.Role, c.who.Name),
			fmt.Sprintf("this needs that of a %s: `shatter cluster %[1]s NAME` issues one", c.opts.Roles[0]))
	}
	return c.expired()
}

// expired returns an error if the credential's time is over.
func (c *Conn) expired() error {
	if c.who.Expires.IsZero() || time.Now().Before(c.who.Expires) {
		return nil
	}
	return c.misfit("credentials have expired", fmt.Errorf("%q was good until %s",
		c.opts.Credentials, c.who.Expires.Format(time.DateTime)), renewRemedy(c.who.Name))
}

func renewRemedy(name string) string {
	return fmt.Sprintf("`shatter cluster renew %s` issues new ones, where the cluster was set up; "+
		"copy them over the old file: who runs already goes on with them by itself", name)
}

func (c *Conn) misfit(reason string, err error, remedy string) *ConnectError {
	return &ConnectError{URL: Redact(c.url), Reason: reason, Err: err, Remedy: remedy}
}

// credentials returns the option that reads the credentials file whenever there is a new
// connection, so that new credentials count without a restart.
func (c *Conn) credentials() nats.Option {
	return nats.UserJWT(func() (string, error) {
		who, token, _, err := readCredential(c.opts.Credentials)
		if err == nil && (who.Name != c.who.Name || who.Role != c.who.Role) {
			err = c.misfit("credentials have changed hands", fmt.Errorf("%q was that of %q, and is that of %q now",
				c.opts.Credentials, c.who.Name, who.Name), "start again to go on under the new name")
			go c.fail(err)
		}
		c.mu.Lock()
		c.who.Expires = who.Expires
		c.mu.Unlock()
		return token, err
	}, func(nonce []byte) ([]byte, error) {
		_, _, key, err := readCredential(c.opts.Credentials)
		if err != nil {
			return nil, err
		}
		defer key.Wipe()
		return key.Sign(nonce)
	})
}

// fail ends the connection for good, for a reason that Gone returns.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	c.failed = err
	c.mu.Unlock()
	if c.nc != nil {
		c.nc.Close()
	}
}

// Holder returns what the credentials of this connection say; the zero value where it has none.
func (c *Conn) Holder() Credential {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.who
}

// limited reports whether the holder of the credentials can neither make streams nor remove messages of them.
func (c *Conn) limited() bool { return c.who.Role == Worker || c.who.Role == Submitter }

// confirm returns an error if the server has refused one of the subscriptions made before. It says
// so in a message of its own, after which nothing would ever arrive.
func (c *Conn) confirm(subject string) error {
	if err := c.nc.Flush(); err != nil {
		return err
	}
	err := c.nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `Subscription to "`+subject+`"`) {
		return nil
	}
	return c.misfit("access refused by the NATS server", err,
		"the credentials are not for this: `shatter cluster worker NAME` issues those of a worker")
}
