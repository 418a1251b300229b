package authority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// File names in a cluster's folder.
const (
	keysFile = "keys/cluster.json" // never leaves the folder
	lockFile = "keys/lock"         // held by the process that changes keysFile
	caKey    = "keys/ca.key"       // never leaves the folder
	caFile   = "ca.pem"            // every client needs it
	confFile = "nats.conf"
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// A Cluster is the folder of a cluster.
type Cluster struct {
	Dir  string
	lock *os.File // nil: Create has just made the folder
	state
}

// A state is the content of keysFile.
type state struct {
	Format   int                `json:"format"`
	Hosts    []string           `json:"hosts"`
	Operator string             `json:"operator"` // seed
	Token    string             `json:"token"`    // token of the operator; servers must be restarted to accept another one
	System   string             `json:"system"`   // public key of the servers' system account
	Teams    map[string]account `json:"teams"`    // by name
	Issued   map[string]*issued `json:"issued"`   // by name
}

const format = 2

// FirstTeam is the name of the team that [Create] makes.
const FirstTeam = "shatter"

// An account is the account of a team.
type account struct {
	Key     string                `json:"key"`     // public key
	Signers map[queue.Role]string `json:"signers"` // seeds of the keys that sign the credentials of each role
}

// An issued records the credentials of a name.
type issued struct {
	Team    string     `json:"team"`
	Role    queue.Role `json:"role"`
	Keys    []string   `json:"keys"` // public keys; the last one is in use
	Revoked time.Time  `json:"revoked,omitzero"`
}

var roles = []queue.Role{queue.Coordinator, queue.Submitter, queue.Worker}

// Options configures [Create].
type Options struct {
	Hosts   []string      // names or addresses of the servers: one, or at least three
	Expires time.Duration // validity of credentials; 0: unlimited
}

// Create sets up a cluster in a folder, which must be empty or not exist: its keys, the folder of
// each server, and credentials for a coordinator and a submitter.
func Create(dir string, o Options) (c *Cluster, err error) {
	if err := check(dir, o); err != nil {
		return nil, err
	}
	dir = filepath.Clean(dir)
	c = &Cluster{state: state{
		Format: format, Hosts: o.Hosts, Teams: map[string]account{}, Issued: map[string]*issued{},
	}}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, inputError("no cluster can be at %q (%v): choose another folder", dir, err)
	}
	if c.Dir, err = os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".new"); err != nil { // readable only by the owner
		return nil, err
	}
	made := c.Dir
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if err := c.makeKeys(); err != nil {
		return nil, err
	}
	for _, r := range []queue.Role{queue.Coordinator, queue.Submitter} {
		if _, err := c.Issue(string(r), FirstTeam, r, o.Expires); err != nil {
			return nil, err
		}
	}
	if err := c.makeCertificates(); err != nil {
		return nil, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.Dir = dir
	return c, os.Rename(made, dir)
}

// An InputError reports an invalid request of the caller.
type InputError struct {
	Text  string
	Fault Fault  // mistake for which a program can offer a remedy; 0: none
	Name  string // name or team, for Issued, NotIssued and NoTeam
}

// A Fault is a kind of mistake.
type Fault int

// The kinds of mistakes.
const (
	NoCluster Fault = iota + 1 // the folder is not the folder of a cluster
	Damaged                    // keysFile cannot be read
	Issued                     // the name already has credentials
	NotIssued                  // the name has no credentials
	NoTeam                     // the cluster has no such team
)

func (e *InputError) Error() string { return e.Text }

func inputError(format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...)}
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9:]([A-Za-z0-9.:-]{0,250}[A-Za-z0-9])?$`)

// check returns an error for folders in use and for clusters that could not elect a leader.
func check(dir string, o Options) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return inputError("folder %q holds something already (%s): choose a new one", dir, entries[0].Name())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return inputError("no cluster can be at %q (%v): choose another folder", dir, err)
	case len(o.Hosts) == 0 || len(o.Hosts) == 2:
		return inputError("%d servers: one is needed, or at least three, of which one may die", len(o.Hosts))
	}
	for i, h := range o.Hosts {
		if !hostName.MatchString(h) {
			return inputError("host %q: a name or an address is needed, without a port", h)
		}
		if slices.Contains(o.Hosts[:i], h) {
			return inputError("host %q is given twice", h)
		}
	}
	return nil
}

// lockTimeout is the maximum time to wait for other changes of the cluster. Each change takes
// milliseconds.
const lockTimeout = 10 * time.Second

// Open opens the folder of a cluster for a change, and locks it until Close. Without the lock, one
// of two concurrent changes could be lost, and with it keys that a later revocation must name.
func Open(ctx context.Context, dir string) (c *Cluster, err error) {
	c = &Cluster{Dir: dir}
	defer func() {
		if errors.Is(err, fs.ErrNotExist) {
			err = &InputError{Text: fmt.Sprintf("%q is no folder of a cluster", dir), Fault: NoCluster}
		}
	}()
	lock, err := disk.OpenFile(c.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	busy := inputError("another command changes the cluster in %q: wait for it, or end it", dir)
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, busy)
	defer cancel()
	if err := disk.Lock(ctx, lock.File, disk.Exclusive); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c.lock = lock.File
	text, err := disk.ReadFile(c.path(keysFile), maxKeys)
	if err == nil {
		if err = json.Unmarshal(text, &c.state); err == nil && c.Format != format {
			err = fmt.Errorf("its format is %d", c.Format)
		}
		if err != nil {
			text := fmt.Sprintf("%q is damaged (%v), or of another version of shatter: restore it from a copy",
				c.path(keysFile), err)
			err = &InputError{Text: text, Fault: Damaged}
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return c, nil
}

// Close unlocks the folder.
func (c *Cluster) Close() { c.lock.Close() }

// maxKeys is the maximum size of keysFile in bytes.
const maxKeys = 64 << 20

func (c *Cluster) path(name string) string { return filepath.Join(c.Dir, name) }

// ServerDir returns the folder of a server, which is moved to the server's machine.
func (c *Cluster) ServerDir(host string) string {
	return c.path("server-" + strings.ReplaceAll(host, ":", "-"))
}

// Credentials returns the path of the credentials of a name.
func (c *Cluster) Credentials(name string) string { return c.path(name + ".creds") }

// makeKeys makes the keys of the operator and of the servers' system account.
func (c *Cluster) makeKeys() error {
	if err := os.Mkdir(filepath.Dir(c.path(keysFile)), 0o700); err != nil {
		return err
	}
	var public string
	public, c.Operator = newPair(nkeys.PrefixByteOperator)
	c.System, _ = newPair(nkeys.PrefixByteAccount)
	operator, err := nkeys.FromSeed([]byte(c.Operator))
	if err != nil {
		return err
	}
	claims := jwt.NewOperatorClaims(public)
	claims.Name, claims.SystemAccount = "shatter", c.System
	c.Token, err = claims.Encode(operator)
	return err
}

// addTeam makes the account of a team. Servers accept it after they have read their new
// configurations.
func (c *Cluster) addTeam(name string) error {
	a := account{Signers: map[queue.Role]string{}}
	a.Key, _ = newPair(nkeys.PrefixByteAccount)
	for _, r := range roles {
		_, a.Signers[r] = newPair(nkeys.PrefixByteAccount)
	}
	c.Teams[name] = a
	return c.configure()
}

// newPair makes a key pair of a kind.
func newPair(kind nkeys.PrefixByte) (public, seed string) {
	var raw []byte
	pair, err := nkeys.CreatePair(kind)
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err == nil {
		raw, err = pair.Seed()
	}
	if err != nil {
		panic(err) // the random source does not fail
	}
	return public, string(raw)
}

func (c *Cluster) save() error {
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteSecret(c.path(keysFile), disk.Bytes(text))
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// Issue issues credentials of a team to a name without credentials, valid for the given time; 0:
// unlimited. It returns the path of the file. Issuing a coordinator's credentials for an unknown
// team creates the team.
func (c *Cluster) Issue(name, team string, r queue.Role, good time.Duration) (path string, err error) {
	for _, s := range []string{name, team} {
		if !validName.MatchString(s) {
			return "", inputError("name %q: 1 to 63 letters, digits, '-' and '_' are needed", s)
		}
	}
	if x := c.Issued[name]; x != nil {
		text := fmt.Sprintf("name %q has been issued to a %s: choose another one", name, x.Role)
		return "", &InputError{text, Issued, name}
	}
	if _, known := c.Teams[team]; !known {
		if r != queue.Coordinator {
			text := fmt.Sprintf("no team %q (there is %s)", team, strings.Join(slices.Sorted(maps.Keys(c.Teams)), ", "))
			return "", &InputError{text, NoTeam, team}
		}
		if err := c.addTeam(team); err != nil {
			return "", err
		}
	}
	c.Issued[name] = &issued{Team: team, Role: r}
	return c.write(name, good)
}

// Renew issues new credentials to a name that has credentials. The old ones remain valid until they
// expire. Renew also rewrites the configurations of the servers in the present version.
func (c *Cluster) Renew(name string, good time.Duration) (path string, err error) {
	x := c.Issued[name]
	switch {
	case x == nil:
		return "", &InputError{fmt.Sprintf("name %q has no credentials", name), NotIssued, name}
	case !x.Revoked.IsZero():
		return "", inputError("the credentials of %q were revoked: issue some to another name", name)
	}
	if err := c.configure(); err != nil {
		return "", err
	}
	return c.write(name, good)
}

// write makes a credentials file, and records its key.
func (c *Cluster) write(name string, good time.Duration) (path string, err error) {
	x := c.Issued[name]
	a := c.Teams[x.Team]
	signer, err := nkeys.FromSeed([]byte(a.Signers[x.Role]))
	if err != nil {
		return "", fmt.Errorf("read the signing key of role %s: %w", x.Role, err)
	}
	key, seed := newPair(nkeys.PrefixByteUser)
	token, err := jwt.IssueUserJWT(signer, a.Key, key, name, good, queue.RoleTag(x.Role))
	if err != nil {
		return "", err
	}
	text, err := jwt.FormatUserConfig(token, []byte(seed))
	if err != nil {
		return "", err
	}
	x.Keys = append(x.Keys, key)
	if err := c.save(); err != nil {
		return "", err
	}
	return c.Credentials(name), disk.WriteSecret(c.Credentials(name), disk.Bytes(text))
}

// Revoke invalidates all credentials of a name. The servers must read their new configurations.
func (c *Cluster) Revoke(name string) error {
	x := c.Issued[name]
	if x == nil {
		return inputError("name %q has no credentials: there is %s", name,
			strings.Join(slices.Sorted(maps.Keys(c.Issued)), ", "))
	}
	x.Revoked = time.Now().UTC().Truncate(time.Second)
	if err := c.save(); err != nil {
		return err
	}
	if err := os.Remove(c.Credentials(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.configure()
}
