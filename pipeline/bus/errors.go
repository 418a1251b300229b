package bus

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A ConnectError reports that there is no usable server: none is there, access was refused, there
// is no JetStream, its limits are too small, or the connection was closed for good.
type ConnectError struct {
	URL    string // of the server, without password
	Reason string // what is wrong, without the URL
	Remedy string // what the user can do
	Err    error  // the cause
	Waits  bool   // a server may come up there later
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("%s at %s: %v; %s", e.Reason, e.URL, e.Err, e.Remedy)
}

func (e *ConnectError) Unwrap() error { return e.Err }

// A SizeError reports that a payload exceeds its limit. It was not sent.
type SizeError struct {
	What  string // "job" or "result"
	ID    string
	Size  int // bytes
	Limit int // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("send %s %q: %d bytes are more than the %d that one message may have; make it smaller",
		e.What, e.ID, e.Size, e.Limit)
}

// connectError explains why the first connection failed.
func connectError(where string, err error) *ConnectError {
	const start = `start one with "nats-server -c deploy/nats.conf" or drop --server`
	e := &ConnectError{URL: Redact(where), Err: err}
	var late net.Error
	var failed *net.OpError
	switch {
	case errors.Is(err, nats.ErrNoServers): // the client hides its cause
		e.Reason, e.Remedy, e.Err, e.Waits = "no NATS server", start, errors.New("connection refused"), true
	case errors.Is(err, nats.ErrAuthorization),
		errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAccountAuthExpired):
		e.Reason, e.Remedy = "access refused by the NATS server", "give a credentials file, or user and password in the URL"
	case errors.Is(err, nats.ErrTimeout), errors.As(err, &late) && late.Timeout():
		e.Reason, e.Remedy, e.Waits = "no answer from a NATS server", "check host, port and firewall, or drop --server", true
	case errors.As(err, &failed) && failed.Op == "dial":
		e.Reason, e.Remedy, e.Waits = "no NATS server", start, true
	default:
		e.Reason, e.Remedy = "no connection to the NATS server", "check the URL, the credentials and TLS, or drop --server"
	}
	return e
}

// jetStreamError explains why the server's JetStream cannot be used. A cluster without JetStream
// does not answer at all.
func jetStreamError(where string, err error) *ConnectError {
	e := &ConnectError{URL: Redact(where), Err: err, Reason: "no JetStream on the NATS server"}
	e.Remedy = `start the server with "nats-server -c deploy/nats.conf", or with -js, and enable JetStream for the account`
	if !errors.Is(err, jetstream.ErrJetStreamNotEnabled) && !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		e.Reason, e.Waits = "no answer from JetStream on the NATS server", true
		e.Remedy = "JetStream is disabled there, or its cluster has no leader: see the server's log"
	}
	return e
}

// Redact removes passwords and tokens from a list of URLs.
func Redact(list string) string {
	urls := strings.Split(list, ",")
	for i, s := range urls {
		s = strings.TrimSpace(s)
		if at := strings.LastIndex(s, "@"); at >= 0 {
			u, err := url.Parse(s)
			switch {
			case err != nil || u.Scheme == "":
				s = "xxxxx" + s[at:]
			case u.User != nil:
				if _, ok := u.User.Password(); !ok { // a token
					u.User = url.User("xxxxx")
				}
				s = u.Redacted()
			}
		}
		urls[i] = s
	}
	return strings.Join(urls, ",")
}

// transient reports whether waiting may cure a failure.
func transient(err error) bool {
	for _, target := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, errNoAnswer,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var broken net.Error // the client may notice a broken connection later than this call
	if errors.As(err, &broken) {
		return true
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	const (
		storeFailed = 10077 // a limit of the stream
		noStorage   = 10047 // a limit of the account
		noResources = 10023 // a limit of the server
	)
	switch api.ErrorCode {
	case storeFailed, noStorage, noResources:
		return true
	}
	return api.Code == 503
}

// errNoAnswer ends one attempt of a call; the call tries again.
var errNoAnswer = errors.New("no answer from the NATS server")
