package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A Credential describes the holder of a credentials file.
type Credential struct {
	Name    string
	Role    Role      // "": the cluster was not set up by `shatter cluster init`
	Expires time.Time // zero: unlimited
}

// expired reports whether the credential is not valid any more.
func (c *Credential) expired() bool { return !c.Expires.IsZero() && !time.Now().Before(c.Expires) }

// maxCredentials is the maximum size of a credentials file in bytes.
const maxCredentials = 64 << 10

// readCredential reads the holder of a credentials file.
func readCredential(path string) (who Credential, err error) {
	text, err := disk.ReadFile(path, maxCredentials)
	if errors.Is(err, fs.ErrNotExist) {
		return who, err
	}
	if err == nil {
		who, err = decodeCredential(text)
	}
	if err != nil {
		err = fmt.Errorf("%q is no credentials file: %w", path, err)
	}
	return who, err
}

// decodeCredential decodes the content of a credentials file.
func decodeCredential(text []byte) (who Credential, err error) {
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return who, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return who, err
	}
	if _, err := jwt.ParseDecoratedUserNKey(text); err != nil {
		return who, errors.New("it has no key")
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
	return who, nil
}

// RoleTag returns the tag of a role in a credential. The server derives permissions from the
// signing key instead.
func RoleTag(r Role) string { return "shatter-" + string(r) }

// An access holds a party's means to connect to a server: its URL and its credentials file.
type access struct {
	url   string
	file  string     // path of the credentials file; "": none
	roles []Role     // see Options
	who   Credential // content of the file when the connection was made
}

// limited reports whether the credentials permit neither to make streams nor to remove messages
// from them.
func (a *access) limited() bool { return a.who.Role == Worker || a.who.Role == Submitter }

// identify reads the credentials file, and returns an error if it cannot be used.
func (a *access) identify() (err error) {
	if a.file == "" {
		return nil
	}
	if a.who, err = readCredential(a.file); err != nil {
		return a.fault(BadCredentials, "credentials cannot be used", err)
	}
	if a.roles != nil && a.who.Role != "" && !slices.Contains(a.roles, a.who.Role) {
		e := a.fault(WrongRole, "credentials are for something else",
			fmt.Errorf("%q is that of the %s %s", a.file, a.who.Role, a.who.Name))
		e.Role = a.roles[0]
		return e
	}
	if a.who.expired() {
		return a.fault(Expired, "credentials have expired", fmt.Errorf("%q was good until %s",
			a.file, a.who.Expires.Format(time.DateTime)))
	}
	return nil
}

// Holder returns the holder of the connection's credentials; the zero value if it has none.
func (c *Conn) Holder() Credential { return c.access.who }
