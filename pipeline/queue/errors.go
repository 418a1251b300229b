package queue

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A ConnectError reports that no server is usable: there is none, access was refused, it lacks
// JetStream, its limits are too small, or the connection was closed permanently.
type ConnectError struct {
	URL    string // URL of the server, without password
	Reason string // the problem, without the URL
	Remedy string // action at the server or in the network; "": Fault implies it
	Err    error  // the cause
	Waits  bool   // a server may become available there later

	Fault Fault  // mistake of the user for which a program can offer a remedy; 0: none
	Role  Role   // required role, for WrongRole
	Name  string // holder of the credentials, for Expired
}

// A Fault is a kind of mistake that prevents a connection.
type Fault int

// The kinds of faults.
const (
	Unprepared     Fault = iota + 1 // no coordinator has prepared the server yet
	NoCredentials                   // the server requires credentials
	BadCredentials                  // the credentials file cannot be read
	WrongRole                       // the credentials are for another role
	Expired                         // the credentials have expired or were revoked
	BadCertificate                  // the certificate of the server is not accepted
)

func (e *ConnectError) Error() string {
	text := fmt.Sprintf("%s at %s: %v", e.Reason, e.URL, e.Err)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *ConnectError) Unwrap() error { return e.Err }

// checkSize returns an error if a payload exceeds its limit in bytes.
func checkSize(what, id string, payload []byte, limit int) error {
	if len(payload) <= limit {
		return nil
	}
	return fmt.Errorf("send %s %q: %d bytes are more than the %d that one message may have; make it smaller",
		what, id, len(payload), limit)
}

// An IDError reports that an id, or a prefix of one, does not identify one sweep.
type IDError struct {
	ID    string
	Known []string // matching ids; none: there is no such sweep
}

func (e *IDError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no sweep %q on this server", e.ID)
	}
	return fmt.Sprintf("sweep %q could be any of %s; give more of its id", e.ID, strings.Join(e.Known, ", "))
}

// fault returns the error for a mistake of the user.
func (a *access) fault(f Fault, reason string, err error) *ConnectError {
	return &ConnectError{URL: Redact(a.url), Reason: reason, Err: err, Fault: f, Name: a.who.Name}
}

// misfit returns the error for a server or credentials that cannot be used.
func (a *access) misfit(reason string, err error, remedy string) *ConnectError {
	return &ConnectError{URL: Redact(a.url), Reason: reason, Err: err, Remedy: remedy}
}

// unprepared returns the error of a party that lacks the permission to make missing streams.
func (a *access) unprepared() *ConnectError {
	return a.fault(Unprepared, "nothing is prepared on the NATS server",
		errors.New("no coordinator has served there yet"))
}

// NoAnswerError returns the error of a call to which the server did not respond in time, or which
// it refused repeatedly.
func (c *Conn) NoAnswerError(after time.Duration, err error) error {
	if missing := (*ConnectError)(nil); errors.As(err, &missing) {
		return missing
	}
	if last := c.nc.LastError(); errors.Is(last, nats.ErrPermissionViolation) {
		return c.access.misfit("access refused by the NATS server", last, "an earlier version may have written the "+
			"configuration of the server: renew any credentials, and give the servers the new configuration")
	}
	if noRoom(err) {
		return c.access.misfit(fmt.Sprintf("no room for %v on the NATS server", after), err,
			"make room on its disk, raise max_file_store in its configuration, or delete sweeps: a coordinator "+
				"removes what they had a day later")
	}
	return c.access.misfit(fmt.Sprintf("no answer within %v from JetStream on the NATS server", after), err,
		"its disk may be full or have been full (make room, and start it again), or too few servers of its "+
			"cluster run: see their logs, or try again")
}

// isRefusal reports whether the server has refused the authentication.
func isRefusal(err error) bool {
	return isAny(err, nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired)
}

// refused explains why the server does not accept the credentials, or no longer accepts them.
func (a *access) refused(err error) *ConnectError {
	const reason = "access refused by the NATS server"
	if a.file == "" {
		return a.fault(NoCredentials, reason, err)
	}
	who, unread := readCredential(a.file) // it may have been renewed
	if unread == nil && who.expired() || isAny(err, nats.ErrAuthExpired, nats.ErrAuthRevoked) {
		return a.fault(Expired, reason, fmt.Errorf("credentials %q have expired, or were revoked: %w", a.file, err))
	}
	return a.misfit(reason, fmt.Errorf("it does not know who issued %q to %q, or has revoked it: %w",
		a.file, a.who.Name, err), "give credentials that were issued for this very cluster")
}

// connectError explains why the first connection failed.
func (a *access) connectError(err error) *ConnectError {
	if bad := (*url.Error)(nil); strings.Contains(a.url, "@") && errors.As(err, &bad) { // the error quotes the password
		err = errors.New("it is no URL; write special characters of user and password as %XX")
	}
	if isRefusal(err) {
		return a.refused(err)
	}
	if bad := (*tls.CertificateVerificationError)(nil); errors.As(err, &bad) {
		return a.fault(BadCertificate, "certificate of the NATS server is not accepted", bad.Err)
	}
	return unreachable(a.url, err)
}

// unreachable explains why no server was reached.
func unreachable(where string, err error) *ConnectError {
	const start = `start one with "nats-server -c deploy/nats.conf" or check the URL`
	e := &ConnectError{URL: Redact(where), Err: err}
	var late net.Error
	var failed *net.OpError
	switch {
	case errors.Is(err, nats.ErrNoServers): // the client hides the cause
		e.Reason, e.Remedy, e.Err, e.Waits = "no NATS server", start, errors.New("connection refused"), true
	case errors.Is(err, nats.ErrTimeout), errors.As(err, &late) && late.Timeout():
		e.Reason, e.Remedy, e.Waits = "no answer from a NATS server", "check host, port and firewall", true
	case errors.As(err, &failed) && failed.Op == "dial":
		e.Reason, e.Remedy, e.Waits = "no NATS server", start, true
	default:
		e.Reason = "no connection to the NATS server"
		e.Remedy = "check the URL, the credentials and the files of TLS"
	}
	return e
}

// noJetStream reports whether a server has no JetStream, or none for this account.
func noJetStream(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// jetStreamError explains why the server's JetStream cannot be used. A cluster without JetStream
// does not respond.
func jetStreamError(where string, err error) *ConnectError {
	e := &ConnectError{URL: Redact(where), Err: err, Reason: "no JetStream on the NATS server"}
	e.Remedy = `start the server with "nats-server -c deploy/nats.conf", or with -js, and enable JetStream for the ` +
		"account"
	if !noJetStream(err) {
		e.Reason, e.Waits = "no answer from JetStream on the NATS server", true
		e.Remedy = "it is disabled there, or too few servers of its cluster run: start them, more than half are " +
			"needed, or see their logs"
	}
	return e
}

// secretPattern matches a URL up to the end of its password or token.
var secretPattern = regexp.MustCompile(`(^|,)(\w+://)?([^:@/,]*:)?[^,]*@`)

// Redact removes passwords and tokens from a list of URLs.
func Redact(list string) string { return secretPattern.ReplaceAllString(list, "${1}${2}${3}xxxxx@") }

// isAny reports whether [errors.Is] holds for one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// transient reports whether a later attempt may succeed.
func transient(err error) bool {
	if isAny(err, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, errNoAnswer) {
		return true
	}
	if later := (*ConnectError)(nil); errors.As(err, &later) {
		return later.Waits
	}
	var broken net.Error // the client may notice a broken connection later than this call
	if errors.As(err, &broken) {
		return true
	}
	var watching *nats.APIError // error of the older interface, through which a bucket is watched
	if errors.As(err, &watching) {
		return watching.Code == 503
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	const streamOffline = 10118 // all servers with the stream are unavailable
	return noRoom(err) || api.ErrorCode == streamOffline || api.Code == 503
}

// noRoom reports whether the server lacks space.
func noRoom(err error) bool {
	const (
		storeFailed = 10077 // limit of the stream
		noStorage   = 10047 // limit of the account
		noResources = 10023 // limit of the server
	)
	limits := []jetstream.ErrorCode{storeFailed, noStorage, noResources}
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(limits, api.ErrorCode)
}

// errNoAnswer ends one attempt of a call; retry continues.
var errNoAnswer = errors.New("no answer from the NATS server")
