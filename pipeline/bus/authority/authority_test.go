package authority

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/bus/bustest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// create sets up a cluster of one server on this machine.
func create(t *testing.T) *Cluster {
	t.Helper()
	c, err := Create(filepath.Join(t.TempDir(), "cluster"), Options{Hosts: []string{"localhost"}})
	must(t, err)
	return c
}

// serve starts the server of a cluster as it was configured, but on a free port.
func serve(t *testing.T, c *Cluster) *server.Server {
	t.Helper()
	return serveHost(t, c, c.Hosts[0], "6222")
}

// serveHost starts the server of a host, whose routes are at a port.
func serveHost(t *testing.T, c *Cluster, host, routes string) *server.Server {
	t.Helper()
	options, err := bustest.Options(configuration(t, c, host, routes))
	must(t, err)
	return bustest.Serve(t, options)
}

// configuration returns the path of a copy of a server's configuration for a test.
func configuration(t *testing.T, c *Cluster, host, routes string) string {
	t.Helper()
	dir, at := c.ServerDir(host), "127.0.0.1"
	if net.ParseIP(host) != nil {
		at = host
	}
	text, err := os.ReadFile(filepath.Join(dir, confFile))
	must(t, err)
	for _, name := range []string{certFile, keyFile, caFile, "nats-data"} { // are where a server is started
		text = bytes.ReplaceAll(text, []byte(`"`+name+`"`), []byte(`"`+filepath.Join(dir, name)+`"`))
	}
	text = bytes.Replace(text, []byte("host: 0.0.0.0\nport: 4222"), []byte("host: "+at+"\nport: -1"), 1)
	text = bytes.ReplaceAll(text, []byte("    port: 6222"), []byte("    host: "+at+"\n    port: 6222"))
	text = bytes.ReplaceAll(text, []byte("6222"), []byte(routes))
	path := filepath.Join(dir, "test.conf")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

func options(c *Cluster, name string) bus.Options {
	return bus.Options{Name: name, Credentials: c.Credentials(name), TLS: bus.TLS{CA: c.path(caFile)}}
}

func dial(t *testing.T, c *Cluster, s *server.Server, name string) *bus.Conn {
	t.Helper()
	conn, err := bus.Dial(t.Context(), s.ClientURL(), options(c, name))
	must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// thief connects as somebody does who has stolen credentials, and keeps to no rule of this program.
func thief(t *testing.T, c *Cluster, s *server.Server, name string) (nc *nats.Conn, denied chan error) {
	t.Helper()
	denied = make(chan error, 100)
	nc, err := nats.Connect(s.ClientURL(), nats.UserCredentials(c.Credentials(name)), nats.RootCAs(c.path(caFile)),
		nats.CustomInboxPrefix(bus.InboxOf(name)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	must(t, err)
	t.Cleanup(nc.Close)
	return nc, denied
}

func receive[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(time.Minute):
		t.Fatal("nothing arrives")
	}
	return v
}

// Each role can do its work: a sweep is submitted, wished for and led; jobs, results and files find
// their way; people hear of workers and of leaders.
func TestRoles(t *testing.T) {
	c := create(t)
	_, err := c.Issue("w1", bus.Worker, time.Hour)
	must(t, err)
	s := serve(t, c)
	coordinator := dial(t, c, s, "coordinator")
	registry, err := coordinator.Registry(soon(t))
	must(t, err)
	q, err := coordinator.Coordinate(soon(t), bus.Lead{Sweep: "ab12", Epoch: 1})
	must(t, err)
	held, err := coordinator.PutBytes(soon(t), []byte("held"))
	must(t, err)

	submitter := dial(t, c, s, "submitter")
	wishes, err := submitter.Registry(soon(t))
	must(t, err)
	file := bytes.Repeat([]byte("data"), 1<<18)
	digest, err := submitter.PutBytes(soon(t), file)
	must(t, err)
	const own = "ab12"
	for _, first := range []bool{true, false} {
		if added, err := wishes.Submit(soon(t), own, []byte("sweep")); err != nil || added != first {
			t.Fatal(added, err)
		}
	}
	must(t, wishes.Change(soon(t), own, func([]byte) ([]byte, error) { return []byte("run"), nil }))
	must(t, wishes.Change(soon(t), own, func(old []byte) ([]byte, error) { return append(old, '!'), nil }))
	l, err := registry.Lead(soon(t), own, "c", time.Minute, nil)
	must(t, err)
	must(t, l.Ship(soon(t), []byte("segments")))
	all, err := wishes.List(soon(t))
	if err != nil || len(all) != 1 || string(all[0].Wish) != "run!" || string(all[0].Ledger) != "segments" {
		t.Fatalf("%+v, %v", all, err)
	}
	stop, err := coordinator.Answer(own, func(q []byte) []byte { return append(q, '!') })
	must(t, err)
	defer stop()
	_, err = registry.Find(soon(t), "ab12") // a round trip
	must(t, err)
	answer, err := submitter.Ask(soon(t), own, []byte("how"))
	if err != nil || string(answer) != "how!" {
		t.Errorf("answer %q, %v", answer, err)
	}

	worker := dial(t, c, s, "w1")
	in, err := worker.Listen(worker.Holder().Name)
	must(t, err)
	roll := make(chan []bus.Announcement)
	go func() {
		var list []bus.Announcement
		hear := func(a bus.Announcement) { list = append(list, a) }
		if err := submitter.Roll(soon(t), time.Second/4, hear); err != nil {
			t.Error(err)
		}
		roll <- list
	}()
	must(t, q.Call(""))
	receive(t, in.Calls)
	done := make(chan []bus.Announcement, 1)
	for over := false; !over; time.Sleep(20 * time.Millisecond) { // as workers do
		must(t, worker.Announce("w1", []byte("here")))
		select {
		case list := <-roll:
			done <- list
			over = true
		default:
		}
	}
	if a := receive(t, q.Announcements()); a.Worker != "w1" || string(a.Data) != "here" {
		t.Errorf("announcement %+v", a)
	}
	if list := receive(t, done); len(list) == 0 || list[0].Worker != "w1" {
		t.Errorf("the submitter hears %+v", list)
	}
	must(t, q.Send(soon(t), "w1", "j1", []byte("job")))
	job := receive(t, in.Jobs)
	must(t, worker.HandBack(job.Lead, "w1", job.ID, []byte("why")))
	if b := receive(t, q.HandedBack()); b.Worker != "w1" || b.Job != "j1" {
		t.Errorf("handed back %+v", b)
	}
	must(t, q.Drop(job.Lead, job.ID))
	receive(t, in.Drops)
	secret, err := coordinator.PutPrivate(soon(t), []byte("secret"))
	must(t, err)
	if got, err := submitter.FetchPrivate(soon(t), secret); err != nil || string(got) != "secret" {
		t.Errorf("fetched %q, %v", got, err)
	}
	for _, want := range []string{digest, held} {
		got, err := worker.FetchBytes(soon(t), want)
		if sum := sha256.Sum256(got); err != nil || hex.EncodeToString(sum[:]) != want {
			t.Errorf("fetched %d bytes, %v", len(got), err)
		}
	}
	must(t, worker.Publish(soon(t), job.Lead, bus.Part{Worker: "w1", Job: "j1", Of: 1}, []byte("result")))
	m, err := q.Next(soon(t))
	must(t, err)
	must(t, m.Ack())
	if string(m.Data) != "result" || m.Worker != "w1" {
		t.Errorf("result %+v", m)
	}

	// What the coordinator has is put again when a worker finds it missing.
	js, err := jetstream.New(as(t, c, s, "coordinator"))
	must(t, err)
	files, err := js.Stream(soon(t), "shatter-files")
	must(t, err)
	must(t, files.Purge(soon(t), jetstream.WithPurgeSubject("shatter.file."+held+".*")))
	if got, err := worker.FetchBytes(soon(t), held); err != nil || string(got) != "held" {
		t.Errorf("fetched %q, %v", got, err)
	}
}

func as(t *testing.T, c *Cluster, s *server.Server, name string) *nats.Conn {
	t.Helper()
	nc, _ := thief(t, c, s, name)
	return nc
}

// An act is one that the holder of credentials may try and must not succeed with: a subscription, or a
// message to a subject, perhaps with a subject for the answer.
type act struct {
	name, subscribe, publish, reply string
	data                            string
}

// forbidden are acts of the holder of a worker's credentials, whose name is evil.
var forbidden = []act{
	{name: "see others' jobs", subscribe: "shatter.job.good.>"},
	{name: "see all jobs", subscribe: "shatter.job.*.>"},
	{name: "see everything", subscribe: ">"},
	{name: "see announcements", subscribe: "shatter.fleet.*"},
	{name: "see results", subscribe: "shatter.result.>"},
	{name: "see what is handed back", subscribe: "shatter.back.>"},
	{name: "see others' inboxes", subscribe: "_INBOX_good.>"},
	{name: "see a coordinator's inbox", subscribe: "_INBOX_coordinator.>"},
	{name: "see the registry change", subscribe: "$KV.>"},
	{name: "see acknowledgements", subscribe: "$JS.ACK.>"},
	{name: "see how the server answers", subscribe: "_R_.>"},
	{name: "see the server's events", subscribe: "$SYS.>"},
	{name: "answer for those who have files", subscribe: "shatter.missing.*"},
	{name: "answer for a leader", subscribe: "shatter.ask.*"},
	{name: "send a job", publish: "shatter.job.good.s.1.j"},
	{name: "send itself a job", publish: "shatter.job.evil.s.1.j"},
	{name: "drop jobs", publish: "shatter.drop.s.1"},
	{name: "call workers", publish: "shatter.call"},
	{name: "ask a leader", publish: "shatter.ask.s"},
	{name: "announce another", publish: "shatter.fleet.good"},
	{name: "hand back another's job", publish: "shatter.back.s.1.good.j"},
	{name: "forge another's result", publish: "shatter.result.s.1.good.j.0.1"},
	{name: "forge another's result, deeper", publish: "shatter.result.s.1.x.evil.j.0.1"},
	{name: "put a file", publish: "shatter.file.abc", data: "bad"},
	{name: "put a part", publish: "shatter.file.abc.0", data: "bad"},
	{name: "submit a sweep", publish: "$KV.shatter-sweeps.x", data: "{}"},
	{name: "change a wish", publish: "$KV.shatter-sweeps.s.wish", data: "{}"},
	{name: "take a lease", publish: "$KV.shatter-sweeps.s.lead", data: "{}"},
	{name: "end a sweep", publish: "$KV.shatter-sweeps.s.end", data: "{}"},
	{name: "read a sweep", publish: "$JS.API.DIRECT.GET.KV_shatter-sweeps.$KV.shatter-sweeps.s"},
	{name: "read any message", publish: "$JS.API.DIRECT.GET.shatter-files", data: `{"seq":1}`},
	{name: "read a result", publish: "$JS.API.STREAM.MSG.GET.shatter-results", data: `{"seq":1}`},
	{name: "read private content", publish: "$JS.API.DIRECT.GET.shatter-files.shatter.private.abc.0"},
	{name: "read any private content", publish: "$JS.API.DIRECT.GET.shatter-files.shatter.private.*.*"},
	{name: "read the last content", publish: "$JS.API.DIRECT.GET.shatter-files.>"},
	{name: "read content of any kind", publish: "$JS.API.DIRECT.GET.shatter-files.shatter.*.*.*"},
	{name: "have private content put again", publish: "shatter.missing.private.abc"},
	{name: "put private content", publish: "shatter.private.abc", data: "bad"},
	{name: "see private content come", subscribe: "shatter.private.>"},
	{name: "list files", publish: "$JS.API.STREAM.INFO.shatter-files", data: `{"subjects_filter":">"}`},
	{name: "list streams", publish: "$JS.API.STREAM.NAMES"},
	{name: "make a stream", publish: "$JS.API.STREAM.CREATE.x", data: `{"name":"x","subjects":["x"]}`},
	{name: "change a stream", publish: "$JS.API.STREAM.UPDATE.shatter-results", data: `{"name":"shatter-results"}`},
	{name: "remove a stream", publish: "$JS.API.STREAM.DELETE.shatter-results"},
	{name: "purge results", publish: "$JS.API.STREAM.PURGE.shatter-results"},
	{name: "purge files", publish: "$JS.API.STREAM.PURGE.shatter-files"},
	{name: "remove a message", publish: "$JS.API.STREAM.MSG.DELETE.shatter-files", data: `{"seq":1}`},
	{name: "make a consumer", publish: "$JS.API.CONSUMER.CREATE.shatter-results.x",
		data: `{"stream_name":"shatter-results"}`},
	{name: "make a durable consumer", publish: "$JS.API.CONSUMER.DURABLE.CREATE.shatter-results.x"},
	{name: "list consumers", publish: "$JS.API.CONSUMER.NAMES.shatter-results"},
	{name: "remove a consumer", publish: "$JS.API.CONSUMER.DELETE.shatter-results.s-1"},
	{name: "take results", publish: "$JS.API.CONSUMER.MSG.NEXT.shatter-results.s-1"},
	{name: "acknowledge a result", publish: "$JS.ACK.shatter-results.s-1.1.1.1.1.0", data: "+ACK"},
	{name: "answer flow control", publish: "$JS.FC.shatter-results.s-1.x"},
	{name: "kick a server", publish: "$SYS.REQ.SERVER.PING.KICK"},
	{name: "write into an inbox", publish: "_INBOX_coordinator.x.y", data: "bad"},

	// The server answers to any subject. The answer stays in the account of the one who asks.
	{name: "have an answer change a wish", publish: "shatter.result.s.1.evil.j.0.1", reply: "$KV.shatter-sweeps.s.wish"},
	{name: "have an answer take a lease", publish: "shatter.result.s.1.evil.j.0.1", reply: "$KV.shatter-sweeps.s.lead"},
	{name: "have an answer be a result", publish: "shatter.result.s.1.evil.j.0.1",
		reply: "shatter.result.s.1.good.j.0.1"},
	{name: "have an answer purge", publish: "shatter.result.s.1.evil.j.0.1",
		reply: "$JS.API.STREAM.PURGE.shatter-results"},
	{name: "have an answer hand back", publish: "shatter.result.s.1.evil.j.0.1", reply: "shatter.back.s.1.good.j"},
	{name: "have an answer be a job", publish: "shatter.result.s.1.evil.j.0.1", reply: "shatter.job.good.s.1.j"},
	{name: "have a file be a result", publish: "$JS.API.DIRECT.GET.shatter-files.shatter.file.abc",
		reply: "shatter.result.s.1.good.k.0.1"},
	{name: "have a file be another", publish: "$JS.API.DIRECT.GET.shatter-files.shatter.file.abc",
		reply: "shatter.file.def"},
}

// What a stolen worker's credentials are not good for. After each act the server holds what it held
// before, but for the thief's own results, and nobody has heard of it.
func TestStolenWorker(t *testing.T) {
	c := create(t)
	for _, name := range []string{"evil", "good"} {
		_, err := c.Issue(name, bus.Worker, time.Hour)
		must(t, err)
	}
	s := serve(t, c)
	x := newScene(t, c, s)
	_, err := dial(t, c, s, "coordinator").PutBytes(soon(t), []byte("file"))
	must(t, err)
	for _, digest := range []string{"abc", "def"} {
		_, err := x.js.Publish(soon(t), "shatter.file."+digest, []byte(digest))
		must(t, err)
	}
	nc, denied := thief(t, c, s, "evil")
	before := everything(t, x.js)
	x.try(t, nc, denied, forbidden)
	x.unharmed(t, before, denied)
}

// A scene is a server with a sweep that is led and an honest worker: what thieves find.
type scene struct {
	all    *nats.Conn
	js     jetstream.JetStream
	honest *bus.Inbox
	queue  *bus.Queue
}

func newScene(t *testing.T, c *Cluster, s *server.Server) *scene {
	t.Helper()
	honest, err := dial(t, c, s, "good").Listen("good")
	must(t, err)
	coordinator := dial(t, c, s, "coordinator")
	registry, err := coordinator.Registry(soon(t))
	must(t, err)
	_, err = registry.Submit(soon(t), "s", []byte("sweep"))
	must(t, err)
	q, err := coordinator.Coordinate(soon(t), bus.Lead{Sweep: "s", Epoch: 1})
	must(t, err)
	receive(t, honest.Drops)
	receive(t, honest.Calls)
	all := as(t, c, s, "coordinator")
	js, err := jetstream.New(all)
	must(t, err)
	return &scene{all, js, honest, q}
}

// try tries all acts.
func (x *scene) try(t *testing.T, nc *nats.Conn, denied chan error, acts []act) {
	t.Helper()
	heard, err := x.all.SubscribeSync(">")
	must(t, err)
	must(t, x.all.Flush())
	for _, act := range acts {
		t.Run(act.name, func(t *testing.T) { act.try(t, nc, denied, x.all, heard) })
	}
}

// unharmed fails the test unless the server holds what it held before, and nobody has heard of the thief.
func (x *scene) unharmed(t *testing.T, before string, denied chan error) {
	t.Helper()
	if after := everything(t, x.js); after != before {
		t.Errorf("the server holds\n%s\nand held\n%s", after, before)
	}
	heard := len(x.honest.Jobs) + len(x.honest.Drops) + len(x.honest.Calls)
	if heard+len(x.queue.HandedBack())+len(x.queue.Announcements()) > 0 {
		t.Error("others have heard of it")
	}
	if len(denied) > 0 {
		t.Error(<-denied)
	}
}

// try tries the act, and fails the test unless it is refused. heard hears all of what the coordinators do.
func (a act) try(t *testing.T, nc *nats.Conn, denied chan error, all *nats.Conn, heard *nats.Subscription) {
	t.Helper()
	if a.subscribe != "" {
		_, err := nc.Subscribe(a.subscribe, func(*nats.Msg) { t.Error("heard something") })
		must(t, err)
	} else {
		must(t, nc.PublishMsg(&nats.Msg{Subject: a.publish, Reply: a.reply, Data: []byte(a.data)}))
	}
	must(t, nc.Flush())
	if a.reply == "" {
		if err := receive(t, denied); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Error(err)
		}
		return
	}
	until(t, heard, a.publish)
	must(t, all.Publish("over", nil))
	until(t, heard, "over", a.reply)
}

// until reads what is heard until there is a message of a subject, or a request behind one, and none
// of the others.
func until(t *testing.T, heard *nats.Subscription, subject string, never ...string) {
	t.Helper()
	for {
		m, err := heard.NextMsg(time.Minute)
		must(t, err)
		for _, n := range never {
			if m.Subject == n {
				t.Errorf("there is a message to %s: %q", n, m.Data)
			}
		}
		if m.Subject == subject || strings.HasPrefix(subject, "$JS.API.DIRECT.GET") && strings.HasPrefix(m.Subject, "_R_") {
			return
		}
	}
}

// forbiddenToSubmitters are acts of the holder of a submitter's credentials, whose name is evil. The sweep s
// is led by a coordinator.
var forbiddenToSubmitters = []act{
	{name: "see jobs", subscribe: "shatter.job.>"},
	{name: "see results", subscribe: "shatter.result.>"},
	{name: "see what is handed back", subscribe: "shatter.back.>"},
	{name: "see everything", subscribe: ">"},
	{name: "see the registry change", subscribe: "$KV.>"},
	{name: "see content come", subscribe: "shatter.private.>"},
	{name: "see a coordinator's inbox", subscribe: "_INBOX_coordinator.>"},
	{name: "see a worker's inbox", subscribe: "_INBOX_good.>"},
	{name: "see another submitter's inbox", subscribe: "_INBOX_ann.>"},
	{name: "see the server's events", subscribe: "$SYS.>"},
	{name: "hear what others ask a leader", subscribe: "shatter.ask.>"},
	{name: "answer for a leader", subscribe: "shatter.ask.*"},
	{name: "answer for those who have files", subscribe: "shatter.missing.*"},
	{name: "send a job", publish: "shatter.job.good.s.1.j"},
	{name: "drop jobs", publish: "shatter.drop.s.1"},
	{name: "call workers", publish: "shatter.call"},
	{name: "announce a worker", publish: "shatter.fleet.good"},
	{name: "hand back a job", publish: "shatter.back.s.1.good.j"},
	{name: "forge a result", publish: "shatter.result.s.1.good.j.0.1"},
	{name: "take a lease", publish: "$KV.shatter-sweeps.s.lead", data: "{}"},
	{name: "replace a ledger", publish: "$KV.shatter-sweeps.s.ledger", data: "{}"},
	{name: "end a sweep", publish: "$KV.shatter-sweeps.s.end", data: "{}"},
	{name: "read a result", publish: "$JS.API.STREAM.MSG.GET.shatter-results", data: `{"seq":1}`},
	{name: "read a result directly", publish: "$JS.API.DIRECT.GET.shatter-results.shatter.result.>"},
	{name: "watch the registry", publish: "$JS.API.CONSUMER.CREATE.KV_shatter-sweeps.x"},
	{name: "take results", publish: "$JS.API.CONSUMER.MSG.NEXT.shatter-results.s-1"},
	{name: "remove a consumer", publish: "$JS.API.CONSUMER.DELETE.shatter-results.s-1"},
	{name: "acknowledge a result", publish: "$JS.ACK.shatter-results.s-1.1.1.1.1.0", data: "+ACK"},
	{name: "make a stream", publish: "$JS.API.STREAM.CREATE.x", data: `{"name":"x","subjects":["x"]}`},
	{name: "change a stream", publish: "$JS.API.STREAM.UPDATE.KV_shatter-sweeps", data: `{"name":"KV_shatter-sweeps"}`},
	{name: "remove the registry", publish: "$JS.API.STREAM.DELETE.KV_shatter-sweeps"},
	{name: "purge the registry", publish: "$JS.API.STREAM.PURGE.KV_shatter-sweeps",
		data: `{"filter":"$KV.shatter-sweeps.s.>"}`},
	{name: "purge files", publish: "$JS.API.STREAM.PURGE.shatter-files"},
	{name: "remove a file", publish: "$JS.API.STREAM.MSG.DELETE.shatter-files", data: `{"seq":1}`},

	{name: "write another key of a sweep", publish: "$KV.shatter-sweeps.s.x.y", data: "{}"},
	{name: "read any value", publish: getSweeps + ".>"},
	{name: "read a value that the request names", publish: getSweeps, data: `{"last_by_subj":"$KV.shatter-sweeps.s"}`},
	{name: "read a value from its stream", publish: "$JS.API.STREAM.MSG.GET.KV_shatter-sweeps", data: `{"seq":1}`},
	{name: "list streams", publish: "$JS.API.STREAM.LIST"},
	{name: "read a data file", publish: getFiles + ".shatter.file.abc.0"},
	{name: "read any data file", publish: getFiles + ".shatter.file.*.*"},
	{name: "read any content", publish: getFiles + ".>"},
	{name: "read content that the request names", publish: getFiles, data: `{"last_by_subj":"shatter.file.abc.0"}`},
	{name: "write into another's inbox", publish: "_INBOX_ann.x.y", data: "bad"},

	// The server answers to any subject. The answer stays in the account of the one who asks.
	{name: "have an answer take a lease", publish: "$KV.shatter-sweeps.t.wish", data: "secret",
		reply: "$KV.shatter-sweeps.s.lead"},
	{name: "have an answer be a result", publish: "$KV.shatter-sweeps.t.wish", data: "secret",
		reply: "shatter.result.s.1.good.j.0.1"},
	{name: "have a file be a job", publish: getFiles + ".shatter.private.abc", reply: "shatter.job.good.s.1.j"},
	{name: "have a file be another", publish: getFiles + ".shatter.private.abc", reply: "shatter.private.abc.0"},
}

const (
	getSweeps = "$JS.API.DIRECT.GET.KV_shatter-sweeps"
	getFiles  = "$JS.API.DIRECT.GET.shatter-files"
)

// What a stolen submitter's credentials are not good for, beside a sweep that has run. Nor do headers make a message
// of the thief's remove others, or a request for one value bring what it may not read.
func TestStolenSubmitter(t *testing.T) {
	c := create(t)
	_, err := c.Issue("good", bus.Worker, time.Hour)
	must(t, err)
	for _, name := range []string{"ann", "evil"} {
		_, err := c.Issue(name, bus.Submitter, time.Hour)
		must(t, err)
	}
	s := serve(t, c)
	x := newScene(t, c, s)
	led := runSweep(t, c, s)
	for _, subject := range []string{
		"shatter.file.abc", "shatter.file.abc.0", "shatter.private.abc", "shatter.private.abc.0",
		"$KV.shatter-sweeps.t.wish",
	} {
		_, err = x.js.Publish(soon(t), subject, []byte("secret"))
		must(t, err)
	}
	nc, denied := thief(t, c, s, "evil")
	before := everything(t, x.js)
	x.try(t, nc, denied, forbiddenToSubmitters)
	for _, subject := range []string{
		"$KV.shatter-sweeps.t.wish", "shatter.file.abc", "shatter.private.abc",
	} {
		for _, roll := range []string{"sub", "all"} {
			m := nats.NewMsg(subject)
			m.Header.Set(jetstream.MsgRollup, roll)
			answer, err := nc.RequestMsg(m, time.Minute)
			if err != nil || !bytes.Contains(answer.Data, []byte("rollup not permitted")) {
				t.Errorf("%s: %v, %s", subject, err, answer.Data)
			}
		}
	}
	for _, body := range []string{
		`{"last_by_subj":"$KV.shatter-sweeps.s"}`, `{"next_by_subj":"$KV.shatter-sweeps.s"}`, `{"seq":1}`,
		`{"multi_last":["$KV.shatter-sweeps.s"]}`, `{"seq":1,"batch":100}`,
	} {
		answer, err := nc.Request(getSweeps+".$KV.shatter-sweeps.s", []byte(body), time.Minute)
		if err != nil || answer.Header.Get("Status") != "408" || len(answer.Data) > 0 {
			t.Errorf("%s: %v, %v %s", body, err, answer.Header, answer.Data)
		}
	}
	x.unharmed(t, before, denied)
	if err := context.Cause(led.Context()); err != nil {
		t.Errorf("its leader leads it no more: %v", err)
	}
}

// everything lists what the streams hold, but for results of the thief.
func everything(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	var list []string
	for info := range js.ListStreams(soon(t)).Info() {
		stream, err := js.Stream(soon(t), info.Config.Name)
		must(t, err)
		info, err := stream.Info(soon(t), jetstream.WithSubjectFilter(">"))
		must(t, err)
		for subject := range info.State.Subjects {
			if !strings.Contains(subject, ".evil.") {
				m, err := stream.GetLastMsgForSubject(soon(t), subject)
				must(t, err)
				list = append(list, subject+" "+string(m.Data))
			}
		}
		names := stream.ConsumerNames(soon(t))
		for name := range names.Name() {
			list = append(list, info.Config.Name+" has consumer "+name)
		}
		must(t, names.Err())
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// runSweep has ann submit the sweep s, and a coordinator lead it, who ships and answers. What has to be kept
// secret of it has "secret" in it.
func runSweep(t *testing.T, c *Cluster, s *server.Server) *bus.Leadership {
	t.Helper()
	ann, coordinator := dial(t, c, s, "ann"), dial(t, c, s, "coordinator")
	own, err := ann.Registry(soon(t))
	must(t, err)
	_, err = own.Submit(soon(t), "s", []byte("secret"))
	must(t, err)
	must(t, own.Change(soon(t), "s", func([]byte) ([]byte, error) { return []byte("secret"), nil }))
	_, err = ann.PutPrivate(soon(t), []byte("secret"))
	must(t, err)
	registry, err := coordinator.Registry(soon(t))
	must(t, err)
	led, err := registry.Lead(soon(t), "s", "c", time.Hour, nil)
	must(t, err)
	must(t, led.Ship(soon(t), []byte("secret")))
	must(t, led.Finish(soon(t), []byte("secret")))
	stop, err := coordinator.Answer("s", func([]byte) []byte { t.Error("asked"); return nil })
	must(t, err)
	t.Cleanup(stop)
	return led
}
