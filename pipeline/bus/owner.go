package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A sweep belongs to the submitter whose credentials it was submitted with, and to nobody where the server
// does not know who submits, or where a coordinator does. Its owner's name is part of its id, and a token of
// its own in the keys and subjects of all that concerns the sweep but its jobs and results, so that the
// server can keep each submitter to what is his own.

// owned is what keys and subjects of what belongs to somebody begin with, before the owner's name.
const owned = "by."

// listName stands in the place of a sweep in the key of the list of an owner's sweeps.
const listName = "list"

// IDOf returns the id of a sweep: the digest of its content, and its owner's name if it has an owner.
func IDOf(content, owner string) string {
	if owner == "" {
		return content
	}
	return content + "-" + owner
}

// splitID returns what IDOf has put together.
func splitID(id string) (content, owner string) {
	content, owner, _ = strings.Cut(id, "-")
	return content, owner
}

// OwnerOf returns the owner of a sweep; "" if it has none.
func OwnerOf(id string) string {
	_, owner := splitID(id)
	return owner
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}(-[A-Za-z0-9][A-Za-z0-9_-]{0,62})?$`)

// isID reports whether an id can be that of a sweep: it becomes part of subjects, keys and paths. Whoever
// may submit can write others into the registry, which count for nothing.
func isID(id string) bool { return idPattern.MatchString(id) && !strings.HasPrefix(id, listName+"-") }

// place returns what stands for a sweep in keys and subjects.
func place(id string) string {
	content, owner := splitID(id)
	return placeOf(owner) + content
}

// placeOf returns what keys and subjects of what belongs to an owner begin with.
func placeOf(owner string) string {
	if owner == "" {
		return ""
	}
	return owned + owner + "."
}

// listOf returns the key of the list of an owner's sweeps.
func listOf(owner string) string { return placeOf(owner) + listName }

// sweepAt returns the id of the sweep to which a key of the registry belongs, and what follows the sweep's
// place in the key. The id is empty where the key can be that of no sweep.
func sweepAt(key string) (id, rest string) {
	owner := ""
	if of, ok := strings.CutPrefix(key, owned); ok {
		if name, place, ok := strings.Cut(of, "."); ok && name != "" {
			owner, key = name, place
		}
	}
	if dot := strings.IndexByte(key, '.'); dot >= 0 {
		key, rest = key[:dot], key[dot:]
	}
	if strings.Contains(key, "-") { // with which it would be that of another owner
		return "", ""
	}
	return IDOf(key, owner), rest
}

// Owner returns the name to which the sweeps belong that this party submits, and which sees no others; ""
// for all but submitters with credentials of a cluster.
func (c *Conn) Owner() string {
	if who := c.Holder(); who.Role == Submitter {
		return who.Name
	}
	return ""
}

// listed returns the ids of an owner's sweeps, ascending, and perhaps of some that are forgotten. The list
// is a value of its own: who may list the keys of the registry sees those of others.
func (r *Registry) listed(ctx context.Context, owner string) (all []string, err error) {
	list, _, err := r.list(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, content := range slices.Sorted(maps.Keys(list)) {
		if id := IDOf(content, owner); isID(id) {
			all = append(all, id)
		}
	}
	return all, nil
}

// list reads when, in Unix seconds, each of an owner's sweeps was submitted, by the digest of its content, and
// the revision of that list. It waits a little where the server that was asked is behind.
func (r *Registry) list(ctx context.Context, owner string) (all map[string]int64, revision uint64, err error) {
	key := listOf(owner)
	for began := time.Now(); ; {
		v, err := r.get(ctx, key)
		if err != nil {
			return nil, 0, err
		}
		last, err := r.c.lastOf(ctx, registrySubject+key)
		if err != nil {
			return nil, 0, err
		}
		if v.revision >= last || time.Since(began) > behind {
			all = map[string]int64{}
			if json.Unmarshal(v.data, &all) != nil || all == nil { // nobody but the owner can have spoilt it
				all = map[string]int64{}
			}
			return all, v.revision, nil
		}
		select {
		case <-time.After(behind / 30):
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// unlisted is the age from which on a sweep that is not in the registry leaves the list of its owner's. One
// that is younger may be about to be submitted.
const unlisted = 24 * time.Hour

// enlist adds a sweep to the list of its owner's, before it is submitted.
func (r *Registry) enlist(ctx context.Context, id string) error {
	content, owner := splitID(id)
	if owner == "" {
		return nil
	}
	for {
		all, revision, err := r.list(ctx, owner)
		if err != nil || all[content] > 0 {
			return err
		}
		for other, at := range all {
			if time.Since(time.Unix(at, 0)) < unlisted {
				continue
			}
			v, err := r.get(ctx, placeOf(owner)+other)
			if err != nil {
				return err
			}
			if v.data == nil {
				delete(all, other)
			}
		}
		all[content] = cmp.Or(time.Now().Unix(), 1)
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if _, err := r.put(ctx, listOf(owner), raw, revision); !conflict(err) {
			return err
		}
	}
}

// lastOf returns the number of the last message of a subject in its stream, as the stream's leader knows it;
// 0: there is none. It sends a message that the server refuses, because it may come after no message but one
// that does not exist, and says which there is. So it needs no right but that to write the subject.
func (c *Conn) lastOf(ctx context.Context, subject string) (last uint64, err error) {
	const never = 1 << 60
	for {
		_, err := c.js.PublishMsg(ctx, nats.NewMsg(subject), jetstream.WithExpectLastSequencePerSubject(never))
		if err == nil {
			return 0, fmt.Errorf("send %s: the server took what it had to refuse", subject)
		}
		var refused *jetstream.APIError
		if !conflict(err) || !errors.As(err, &refused) {
			return 0, err
		}
		if _, err := fmt.Sscanf(refused.Description, "wrong last sequence: %d", &last); err == nil {
			return last, nil
		}
		select { // a message of the subject is being stored
		case <-time.After(firstWait):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
