package authority

import (
	"bytes"
	"context"
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

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/queue/queuetest"
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
	options, err := queuetest.Options(configuration(t, c, host, routes))
	must(t, err)
	return queuetest.Serve(t, options)
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
	for _, name := range []string{certFile, keyFile, caFile, "nats-data"} { // relative paths
		text = bytes.ReplaceAll(text, []byte(`"`+name+`"`), []byte(`"`+filepath.Join(dir, name)+`"`))
	}
	text = bytes.Replace(text, []byte("host: 0.0.0.0\nport: 4222"), []byte("host: "+at+"\nport: -1"), 1)
	text = bytes.ReplaceAll(text, []byte("    port: 6222"), []byte("    host: "+at+"\n    port: 6222"))
	text = bytes.ReplaceAll(text, []byte("6222"), []byte(routes))
	path := filepath.Join(dir, "test.conf")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

func options(c *Cluster, name string) queue.Options {
	return queue.Options{Name: name, Credentials: c.Credentials(name), TLS: queue.TLS{CA: c.path(caFile)}}
}

func dial(t *testing.T, c *Cluster, s *server.Server, name string) *queue.Conn {
	t.Helper()
	conn, err := queue.Dial(t.Context(), s.ClientURL(), options(c, name))
	must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// thief connects with stolen credentials, and bypasses the client code of this program.
func thief(t *testing.T, c *Cluster, s *server.Server, name string) (nc *nats.Conn, denied chan error) {
	t.Helper()
	denied = make(chan error, 100)
	nc, err := nats.Connect(s.ClientURL(), nats.UserCredentials(c.Credentials(name)), nats.RootCAs(c.path(caFile)),
		nats.CustomInboxPrefix(queue.InboxOf(name)),
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

// A submitter submits, lists, watches and controls sweeps, sends requests to their leader, and
// stores content, which all roles can read.
func TestSubmitter(t *testing.T) {
	c := create(t)
	s := serve(t, c)
	coordinator := dial(t, c, s, "coordinator")
	registry, err := coordinator.Registry(soon(t))
	must(t, err)
	submitter := dial(t, c, s, "submitter")
	own, err := submitter.Registry(soon(t))
	must(t, err)
	for _, first := range []bool{true, false} {
		if added, err := own.Submit(soon(t), "ab12", []byte("sweep")); err != nil || added != first {
			t.Fatal(added, err)
		}
	}
	must(t, own.Change(soon(t), "ab12", func([]byte) ([]byte, error) { return []byte("run"), nil }))
	must(t, own.Change(soon(t), "ab12", func(old []byte) ([]byte, error) { return append(old, '!'), nil }))
	l, err := registry.AcquireLease(soon(t), "ab12", "c", time.Minute, nil)
	must(t, err)
	must(t, l.Ship(soon(t), []byte("segments")))
	all, err := own.List(soon(t))
	if err != nil || len(all) != 1 || string(all[0].Desired) != "run!" || string(all[0].Ledger) != "segments" {
		t.Fatalf("%+v, %v", all, err)
	}
	watched := errors.New("watched")
	if err := own.Watch(soon(t), func(*queue.Entry) error { return watched }); !errors.Is(err, watched) {
		t.Error(err)
	}
	stop, err := coordinator.Respond("ab12", func(q []byte) []byte { return append(q, '!') })
	must(t, err)
	defer stop()
	_, err = registry.Find(soon(t), "ab12") // a round trip
	must(t, err)
	answer, err := submitter.RequestLeader(soon(t), "ab12", []byte("how"))
	if err != nil || string(answer) != "how!" {
		t.Errorf("answer %q, %v", answer, err)
	}
	_, err = c.Issue("w1", FirstTeam, queue.Worker, time.Hour)
	must(t, err)
	for _, puts := range []*queue.Conn{coordinator, submitter} {
		digest, err := puts.Files.PutBytes(soon(t), []byte(puts.Holder().Name))
		must(t, err)
		for _, name := range []string{"coordinator", "submitter", "w1"} {
			got, err := dial(t, c, s, name).Files.FetchBytes(soon(t), digest)
			if err != nil || string(got) != puts.Holder().Name {
				t.Errorf("%s fetched %q, %v", name, got, err)
			}
		}
	}
}

// A worker leases a job of a consumer that the coordinator has made, stores a result and its
// heartbeat under its own name, and acknowledges the job. A submitter reads and watches the
// heartbeats.
func TestWorker(t *testing.T) {
	c := create(t)
	_, err := c.Issue("w1", FirstTeam, queue.Worker, time.Hour)
	must(t, err)
	s := serve(t, c)
	_, err = dial(t, c, s, "coordinator").Registry(soon(t))
	must(t, err)
	js := jetStream(t, as(t, c, s, "coordinator"))
	jobs, err := js.Stream(soon(t), "shatter-jobs")
	must(t, err)
	_, err = jobs.CreateConsumer(soon(t), jetstream.ConsumerConfig{
		Durable: "s", FilterSubject: "shatter.job.s.>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	must(t, err)
	_, err = js.Publish(soon(t), "shatter.job.s.1.j", []byte("job"))
	must(t, err)

	own := jetStream(t, as(t, c, s, "w1"))
	consumer, err := own.Consumer(soon(t), "shatter-jobs", "s")
	must(t, err)
	job, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
	must(t, err)
	must(t, job.InProgress())
	_, err = own.Publish(soon(t), "shatter.result.s.w1.1.j.0.1", []byte("result"))
	must(t, err)
	_, err = own.Publish(soon(t), "$KV.shatter-workers.w1", []byte("heartbeat"))
	must(t, err)
	must(t, job.DoubleAck(soon(t)))
	if info, err := jobs.Info(soon(t)); err != nil || info.State.Msgs > 0 {
		t.Errorf("%d jobs are left, %v", info.State.Msgs, err)
	}

	submitter := jetStream(t, as(t, c, s, "submitter"))
	workers, err := submitter.KeyValue(soon(t), "shatter-workers")
	must(t, err)
	if keys, err := workers.Keys(soon(t)); err != nil || len(keys) != 1 {
		t.Errorf("workers are %q, %v", keys, err)
	}
	if beat, err := workers.Get(soon(t), "w1"); err != nil || string(beat.Value()) != "heartbeat" {
		t.Errorf("heartbeat %v, %v", beat, err)
	}
}

// Two teams on one server share nothing: neither sweeps nor content nor messages.
func TestTeams(t *testing.T) {
	c := create(t)
	s := serve(t, c)
	_, err := c.Issue("early", "blue", queue.Worker, 0)
	if err == nil || !strings.Contains(err.Error(), `no team "blue" (there is shatter)`) {
		t.Errorf("a worker of an unknown team: %v", err)
	}
	_, err = c.Issue("blue-coordinator", "blue", queue.Coordinator, time.Hour)
	must(t, err)
	_, err = c.Issue("blue-submitter", "blue", queue.Submitter, time.Hour)
	must(t, err)
	reload(t, c, s) // the server has the new account
	var digests []string
	var registries []*queue.Registry
	conns := []*queue.Conn{dial(t, c, s, "coordinator"), dial(t, c, s, "blue-coordinator")}
	for i, conn := range conns {
		r, err := conn.Registry(soon(t))
		must(t, err)
		_, err = r.Submit(soon(t), []string{"red1", "blue2"}[i], []byte("sweep"))
		must(t, err)
		digest, err := conn.Files.PutBytes(soon(t), []byte{byte(i)})
		must(t, err)
		registries, digests = append(registries, r), append(digests, digest)
	}
	other, err := dial(t, c, s, "blue-submitter").Registry(soon(t))
	must(t, err)
	for i, r := range append(registries, other) {
		list, err := r.List(soon(t))
		if want := []string{"red1", "blue2", "blue2"}[i]; err != nil || len(list) != 1 || list[0].ID != want {
			t.Errorf("sweeps are %+v, %v, want %s", list, err, want)
		}
	}
	for i, conn := range conns {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := conn.Files.FetchBytes(short, digests[1-i]); err == nil {
			t.Error("content of the other team was fetched")
		}
	}
	red, blue := as(t, c, s, "coordinator"), as(t, c, s, "blue-coordinator")
	heard, err := blue.SubscribeSync(">")
	must(t, err)
	must(t, blue.Flush())
	jobs, others := jetStream(t, red), jetStream(t, blue)
	all := []string{"shatter.job.red1.1.j", "shatter.result.red1.red-w.1.j.0.1", "$KV.shatter-workers.red-w"}
	for _, subject := range all {
		_, err := jobs.Publish(soon(t), subject, []byte("red"))
		must(t, err)
	}
	must(t, red.Publish("shatter.offer.red1", nil))
	must(t, red.Flush())
	must(t, blue.Publish("over", nil))
	until(t, heard, "over", append(all, "shatter.offer.red1")...)
	if kept := everything(t, others); strings.Contains(kept, "red") || !strings.Contains(kept, "blue2") {
		t.Errorf("the other team's account holds\n%s", kept)
	}
	if kept := everything(t, jobs); strings.Count(kept, "red-w") != 2 || strings.Contains(kept, "blue2") {
		t.Errorf("the first team's account holds\n%s", kept)
	}
}

func jetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	return js
}

// reload makes a server read its configuration again, like a signal.
func reload(t *testing.T, c *Cluster, s *server.Server) {
	t.Helper()
	after, err := server.ProcessConfigFile(configuration(t, c, c.Hosts[0], "6222"))
	must(t, err)
	after.NoSigs, after.NoLog = true, true
	after.Port = s.Addr().(*net.TCPAddr).Port
	must(t, s.ReloadOptions(after))
}

func as(t *testing.T, c *Cluster, s *server.Server, name string) *nats.Conn {
	t.Helper()
	nc, _ := thief(t, c, s, name)
	return nc
}

// An act is an attempt of a credential's holder that must fail: a subscription, or a message to a
// subject.
type act struct {
	name, subscribe, publish, data string
}

// forbidden lists acts that the holder of a worker's or a submitter's credentials named evil must
// not succeed with.
var forbidden = []act{
	{name: "see everything", subscribe: ">"},
	{name: "see jobs", subscribe: "shatter.job.>"},
	{name: "see results", subscribe: "shatter.result.>"},
	{name: "see another's inbox", subscribe: "_INBOX_good.>"},
	{name: "see a coordinator's inbox", subscribe: "_INBOX_coordinator.>"},
	{name: "see the registry change", subscribe: "$KV.>"},
	{name: "see acknowledgements", subscribe: "$JS.ACK.>"},
	{name: "see requests to JetStream", subscribe: "$JS.API.>"},
	{name: "see the server's events", subscribe: "$SYS.>"},
	{name: "answer for a leader", subscribe: "shatter.ask.*"},
	{name: "publish a job", publish: "shatter.job.s.1.j"},
	{name: "forge another's result", publish: "shatter.result.s.good.1.j.0.1"},
	{name: "forge another's result, deeper", publish: "shatter.result.s.good.evil.j.0.1"},
	{name: "write another worker's heartbeat", publish: "$KV.shatter-workers.good"},
	{name: "offer jobs", publish: "shatter.offer.s"},
	{name: "take a lease", publish: "$KV.shatter-sweeps.s.lead", data: "{}"},
	{name: "replace a ledger", publish: "$KV.shatter-sweeps.s.ledger", data: "{}"},
	{name: "end a sweep", publish: "$KV.shatter-sweeps.s.end", data: "{}"},
	{name: "write another key of a sweep", publish: "$KV.shatter-sweeps.s.x.y", data: "{}"},
	{name: "read a result", publish: "$JS.API.STREAM.MSG.GET.shatter-results", data: `{"seq":1}`},
	{name: "read a result directly", publish: "$JS.API.DIRECT.GET.shatter-results.shatter.result.>"},
	{name: "list streams", publish: "$JS.API.STREAM.NAMES"},
	{name: "make a stream", publish: "$JS.API.STREAM.CREATE.x", data: `{"name":"x","subjects":["x"]}`},
	{name: "change a stream", publish: "$JS.API.STREAM.UPDATE.shatter-results", data: `{"name":"shatter-results"}`},
	{name: "remove a stream", publish: "$JS.API.STREAM.DELETE.shatter-results"},
	{name: "remove the registry", publish: "$JS.API.STREAM.DELETE.KV_shatter-sweeps"},
	{name: "purge results", publish: "$JS.API.STREAM.PURGE.shatter-results"},
	{name: "purge the registry", publish: "$JS.API.STREAM.PURGE.KV_shatter-sweeps"},
	{name: "remove a message", publish: "$JS.API.STREAM.MSG.DELETE.KV_shatter-sweeps", data: `{"seq":1}`},
	{name: "purge files", publish: "$JS.API.STREAM.PURGE.shatter-files"},
	{name: "remove a chunk", publish: "$JS.API.STREAM.MSG.DELETE.shatter-files", data: `{"seq":1}`},
	{name: "make a consumer of files", publish: "$JS.API.CONSUMER.CREATE.shatter-files.x"},
	{name: "make a consumer of results", publish: "$JS.API.CONSUMER.CREATE.shatter-results.x",
		data: `{"stream_name":"shatter-results"}`},
	{name: "make a consumer of jobs", publish: "$JS.API.CONSUMER.CREATE.shatter-jobs.x"},
	{name: "make a durable consumer", publish: "$JS.API.CONSUMER.DURABLE.CREATE.shatter-jobs.x"},
	{name: "remove a consumer", publish: "$JS.API.CONSUMER.DELETE.shatter-jobs.s"},
	{name: "pause a consumer", publish: "$JS.API.CONSUMER.PAUSE.shatter-jobs.s"},
	{name: "list consumers", publish: "$JS.API.CONSUMER.NAMES.shatter-results"},
	{name: "take results", publish: "$JS.API.CONSUMER.MSG.NEXT.shatter-results.s"},
	{name: "acknowledge a result", publish: "$JS.ACK.shatter-results.s.1.1.1.1.0", data: "+ACK"},
	{name: "disconnect a client", publish: "$SYS.REQ.SERVER.PING.KICK"},
	{name: "write into an inbox", publish: "_INBOX_coordinator.x.y", data: "bad"},
}

// forbiddenToWorkers and forbiddenToSubmitters list acts that the other role may do.
var forbiddenToWorkers = []act{
	{name: "submit a sweep", publish: "$KV.shatter-sweeps.x", data: "{}"},
	{name: "change a desired state", publish: "$KV.shatter-sweeps.s.wish", data: "{}"},
	{name: "read a sweep", publish: "$JS.API.STREAM.MSG.GET.KV_shatter-sweeps", data: `{"seq":1}`},
	{name: "read a sweep directly", publish: "$JS.API.DIRECT.GET.KV_shatter-sweeps.$KV.shatter-sweeps.s"},
	{name: "watch the registry", publish: "$JS.API.CONSUMER.CREATE.KV_shatter-sweeps.x"},
	{name: "ask a leader", publish: "shatter.ask.s"},
	{name: "put a chunk", publish: "shatter.file.x.0", data: "bad"},
}

var forbiddenToSubmitters = []act{
	{name: "take jobs", publish: "$JS.API.CONSUMER.MSG.NEXT.shatter-jobs.s"},
	{name: "acknowledge a job", publish: "$JS.ACK.shatter-jobs.s.1.1.1.1.0", data: "+ACK"},
	{name: "send results under its own name", publish: "shatter.result.s.evil.1.j.0.1"},
	{name: "be a worker", publish: "$KV.shatter-workers.evil"},
}

// Stolen credentials of a worker and of a submitter allow none of the forbidden acts: the server
// refuses each, and its content does not change.
func TestStolen(t *testing.T) {
	for r, more := range map[queue.Role][]act{queue.Worker: forbiddenToWorkers, queue.Submitter: forbiddenToSubmitters} {
		t.Run(string(r), func(t *testing.T) {
			c := create(t)
			_, err := c.Issue("evil", FirstTeam, r, time.Hour)
			must(t, err)
			s := serve(t, c)
			registry, err := dial(t, c, s, "coordinator").Registry(soon(t))
			must(t, err)
			_, err = registry.Submit(soon(t), "s", []byte("sweep"))
			must(t, err)
			led, err := registry.AcquireLease(soon(t), "s", "c", time.Hour, nil)
			must(t, err)
			js := jetStream(t, as(t, c, s, "coordinator"))
			nc, denied := thief(t, c, s, "evil")
			before := everything(t, js)
			for _, act := range append(more, forbidden...) {
				t.Run(act.name, func(t *testing.T) { act.try(t, nc, denied) })
			}
			if after := everything(t, js); after != before {
				t.Errorf("the server holds\n%s\nand held\n%s", after, before)
			}
			must(t, context.Cause(led.Context()))
			if r == queue.Submitter {
				refuseRollup(t, nc)
			}
		})
	}
}

// try tries the act, and fails the test unless it is refused.
func (a act) try(t *testing.T, nc *nats.Conn, denied chan error) {
	t.Helper()
	if a.subscribe != "" {
		_, err := nc.Subscribe(a.subscribe, func(*nats.Msg) { t.Error("something arrived") })
		must(t, err)
	} else {
		must(t, nc.Publish(a.publish, []byte(a.data)))
	}
	must(t, nc.Flush())
	if err := receive(t, denied); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Error(err)
	}
}

// refuseRollup fails the test if the header of a submission, or of a chunk of a file, can remove
// all others.
func refuseRollup(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for _, subject := range []string{"$KV.shatter-sweeps.t", "shatter.file.x.0"} {
		m := nats.NewMsg(subject)
		m.Header.Set(jetstream.MsgRollup, "all")
		answer, err := nc.RequestMsg(m, time.Minute)
		if err != nil || !bytes.Contains(answer.Data, []byte("rollup not permitted")) {
			t.Errorf("%s: %v, %s", subject, err, answer.Data)
		}
	}
}

// until reads messages until one has the given subject, and fails the test if one of the subjects
// in never arrives first.
func until(t *testing.T, heard *nats.Subscription, subject string, never ...string) {
	t.Helper()
	for {
		m, err := heard.NextMsg(time.Minute)
		must(t, err)
		if slices.Contains(never, m.Subject) {
			t.Errorf("there is a message to %s: %q", m.Subject, m.Data)
		}
		if m.Subject == subject {
			return
		}
	}
}

// everything lists the content of all streams, and their consumers.
func everything(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	var list []string
	for info := range js.ListStreams(soon(t)).Info() {
		stream, err := js.Stream(soon(t), info.Config.Name)
		must(t, err)
		info, err := stream.Info(soon(t), jetstream.WithSubjectFilter(">"))
		must(t, err)
		for subject := range info.State.Subjects {
			m, err := stream.GetLastMsgForSubject(soon(t), subject)
			must(t, err)
			list = append(list, subject+" "+string(m.Data))
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
