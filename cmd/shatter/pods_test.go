package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A pod is one container of a manifest of deploy: a process with a network, a root and a user of its
// own.
type pod struct {
	name   string   // of its host
	args   []string // its program, and what that is given
	env    []string
	dir    string            // where it is started
	mounts map[string]string // files and folders here, by their paths there
	space  string            // its network
	probes []string          // port and path that answer when all is well
}

// pods are those of a deployment, on one switch, with files in dir. They stand for a container engine
// without control groups, as deploy/container/try does.
type pods struct {
	*testing.T
	dir, hub string
	hosts    string // the file that names all
	programs map[string]string
	count    int
}

const podUser = 65532

// newPods makes the switch. The test is skipped where that is impossible.
func newPods(t *testing.T) *pods {
	t.Helper()
	for _, program := range []string{"ip", "unshare", "setpriv", "chroot"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skipf("%s is not there, or this is not root", program)
		}
	}
	p := &pods{T: t, dir: t.TempDir(), hub: fmt.Sprintf("pods%d-%s", os.Getpid()%10000, t.Name()[len(t.Name())-1:])}
	if out, err := exec.Command("ip", "netns", "add", p.hub).CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", p.hub).Run() })
	p.ip("-n", p.hub, "link", "add", "switch", "type", "bridge")
	p.ip("-n", p.hub, "link", "set", "switch", "up")
	p.hosts = write(t, filepath.Join(p.dir, "hosts"), "127.0.0.1 localhost\n")
	p.programs = map[string]string{"shatter": binary(t), "nats-server": filepath.Join(p.dir, "nats-server")}
	build := exec.Command("go", "build", "-o", p.programs["nats-server"], "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nats-server: %v: %s", err, out)
	}
	for parent := p.dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil { // for the pods' user
			t.Fatal(err)
		}
	}
	return p
}

func (p *pods) ip(args ...string) {
	p.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		p.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// connect gives a pod its network and makes its name known.
func (p *pods) connect(x *pod) {
	p.Helper()
	p.count++
	x.space = fmt.Sprint(p.hub, p.count)
	link := fmt.Sprint("pod", p.count)
	p.ip("netns", "add", x.space)
	p.Cleanup(func() { _ = exec.Command("ip", "netns", "del", x.space).Run() })
	p.ip("-n", p.hub, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", x.space)
	p.ip("-n", p.hub, "link", "set", link, "master", "switch", "up")
	address := fmt.Sprintf("10.78.0.%d", p.count)
	p.ip("-n", x.space, "addr", "add", address+"/24", "dev", "eth0")
	p.ip("-n", x.space, "link", "set", "eth0", "up")
	p.ip("-n", x.space, "link", "set", "lo", "up")
	text := contents(p.T, p.hosts)
	write(p.T, p.hosts, fmt.Sprintf("%s%s %s\n", text, address, x.name))
}

// podRoot makes the root of a pod of what is mounted, and of the libraries of this machine, which the
// images, whose program is static, have not: it is given the root, then the path here and there of each
// mount.
const podRoot = `
root=$1; hosts=$2; shift 2
mount -t tmpfs -o mode=755 tmpfs "$root"
for d in bin lib lib64 sbin usr; do
	if [ -L "/$d" ]; then
		cp -P "/$d" "$root/"
	elif [ -d "/$d" ]; then
		mkdir "$root/$d"
		mount --rbind "/$d" "$root/$d"
	fi
done
mkdir "$root/etc" "$root/proc" "$root/dev"
cp "$hosts" "$root/etc/hosts"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != "--" ]; do
	if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; : >"$root$2"; fi
	mount --bind "$1" "$root$2"
	shift 2
done
shift
mount -o remount,ro "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$root" /bin/sh -euc 'cd "$0"; exec "$@"' "$@"
`

// start starts a pod.
func (p *pods) start(x *pod) *exec.Cmd {
	p.Helper()
	root := filepath.Join(p.dir, "root-"+x.name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		p.Fatal(err)
	}
	args := []string{"netns", "exec", x.space, "unshare", "--mount", "sh", "-euc", podRoot, "sh", root, p.hosts}
	for _, there := range slices.Sorted(maps.Keys(x.mounts)) {
		args = append(args, x.mounts[there], there)
	}
	program := filepath.Base(x.args[0])
	args = append(args, p.programs[program], "/"+program, "--", x.dir, "/"+program)
	cmd := exec.Command("ip", append(args, x.args[1:]...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, x.env...)
	start(p.T, cmd)
	return cmd
}

// try runs a command of a person, in a pod's network and a folder here, and returns what it says.
func (p *pods) try(x *pod, dir, command string) (string, error) {
	cmd := exec.Command("ip", "netns", "exec", x.space, "sh", "-euc", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(binary(p))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// here runs a command that has to succeed.
func (p *pods) here(x *pod, dir, command string) string {
	p.Helper()
	out, err := p.try(x, dir, command)
	if err != nil {
		p.Fatalf("%s: %v: %s", command, err, out)
	}
	return out
}

// get returns what a pod answers to a request, with its header, or "".
func (p *pods) get(x *pod, port, path string) string {
	const get = `exec 3<>"/dev/tcp/127.0.0.1/$0"; printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3; cat <&3`
	out, err := exec.Command("ip", "netns", "exec", x.space, "bash", "-c", get, port, path).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// well reports that all probes of a pod succeed.
func (p *pods) well(x *pod) bool {
	for _, probe := range x.probes {
		w := strings.Fields(probe)
		if answer, _, _ := strings.Cut(p.get(x, w[0], w[1]), "\n"); !strings.Contains(answer, " 200 ") {
			return false
		}
	}
	return true
}

// volume makes a folder that the pods' user may write.
func (p *pods) volume() string {
	p.Helper()
	dir, err := os.MkdirTemp(p.dir, "volume")
	if err == nil {
		err = os.Chown(dir, podUser, podUser)
	}
	if err != nil {
		p.Fatal(err)
	}
	return dir
}

// setUp runs commands that tell how to set a deployment up, in a folder of a person who has the sources,
// after functions that stand for programs that are not here.
func (p *pods) setUp(functions, commands string) (dir string) {
	p.Helper()
	dir = filepath.Join(p.dir, "person")
	if err := os.MkdirAll(filepath.Join(dir, "deploy"), 0o755); err != nil {
		p.Fatal(err)
	}
	p.here(&pod{space: p.hub}, dir, functions+commands)
	return dir
}

// commandsOf returns what is indented in the comment at the head of a file.
func commandsOf(t *testing.T, file string) (commands string) {
	t.Helper()
	for line := range strings.Lines(contents(t, file)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if command, ok := strings.CutPrefix(line, "#     "); ok {
			commands += command
		}
	}
	return commands
}

// An image is what a container file says of one.
type image struct{ entry, env []string }

// images reads deploy/container/Containerfile. A process 1 that only reaps others is left out.
func images(t *testing.T) map[string]image {
	t.Helper()
	all := map[string]image{}
	var name string
	for line := range strings.Lines(strings.ReplaceAll(contents(t, deployed("container", "Containerfile")), "\\\n", "")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		x := all[name]
		switch word {
		case "FROM":
			name = "shatter-" + rest[strings.LastIndex(rest, " ")+1:]
			continue
		case "ENV":
			x.env = append(x.env, strings.Fields(rest)...)
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &x.entry); err != nil {
				t.Fatal(err)
			}
			x.entry = x.entry[slices.Index(x.entry, "--")+1:]
		}
		all[name] = x
	}
	return all
}

// kubernetes is what is read of a manifest; deploy/kubernetes/check decodes all of it, strictly.
type kubernetes struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ServiceName          string `yaml:"serviceName"`
		Template             struct{ Spec podSpec }
		VolumeClaimTemplates []struct {
			Metadata struct{ Name string }
		} `yaml:"volumeClaimTemplates"`
	}
}

type podSpec struct {
	Containers []struct {
		Image         string
		Command, Args []string
		WorkingDir    string `yaml:"workingDir"`
		Env           []struct{ Name, Value string }
		Ports         []struct {
			Name   string
			Number int `yaml:"containerPort"`
		}
		ReadinessProbe probe `yaml:"readinessProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
		VolumeMounts   []struct {
			Name        string
			MountPath   string `yaml:"mountPath"`
			SubPath     string `yaml:"subPath"`
			SubPathExpr string `yaml:"subPathExpr"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name   string
		Secret *struct {
			Name string `yaml:"secretName"`
		}
		Projected *struct {
			Sources []struct {
				Secret struct {
					Name  string
					Items []struct{ Key, Path string }
				}
			}
		}
	}
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

// statefulSet returns one of deploy/kubernetes.
func statefulSet(t *testing.T, file string) kubernetes {
	t.Helper()
	for text := range strings.SplitSeq(contents(t, deployed("kubernetes", file)), "\n---\n") {
		var x kubernetes
		if err := yaml.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		if x.Kind == "StatefulSet" {
			return x
		}
	}
	t.Fatalf("%s has no StatefulSet", file)
	panic("unreachable")
}

var podVariable = regexp.MustCompile(`\$\((\w+)\)`)

// pod returns the pod of a number, with what the kubelet would mount of the secrets.
func (x kubernetes) pod(p *pods, number int, secrets string) *pod {
	p.Helper()
	name := fmt.Sprintf("%s-%d", x.Metadata.Name, number)
	c := x.Spec.Template.Spec.Containers[0]
	out := &pod{
		name: name + "." + x.Spec.ServiceName, dir: "/" + strings.TrimPrefix(c.WorkingDir, "/"), mounts: map[string]string{},
	}
	values := map[string]string{}
	for _, e := range c.Env {
		if e.Name == "POD_NAME" { // by fieldRef
			e.Value = name
		}
		values[e.Name] = e.Value
		out.env = append(out.env, e.Name+"="+e.Value)
	}
	expand := func(s string) string {
		return podVariable.ReplaceAllStringFunc(s, func(r string) string { return values[r[2:len(r)-1]] })
	}
	image := images(p.T)[c.Image]
	out.env = append(out.env, image.env...)
	for _, a := range append(append(slices.Clone(image.entry), c.Command...), c.Args...) {
		out.args = append(out.args, expand(a))
	}
	for _, probe := range []probe{c.ReadinessProbe, c.LivenessProbe} {
		for _, port := range c.Ports {
			if port.Name == probe.HTTP.Port {
				out.probes = append(out.probes, fmt.Sprint(port.Number, " ", probe.HTTP.Path))
			}
		}
	}
	volumes := x.volumes(p, secrets)
	for _, m := range c.VolumeMounts {
		out.mounts[m.MountPath] = filepath.Join(volumes[m.Name], m.SubPath+expand(m.SubPathExpr))
	}
	p.connect(out)
	return out
}

// volumes makes the volumes of a pod: secrets are for the group of the pods alone.
func (x kubernetes) volumes(p *pods, secrets string) map[string]string {
	p.Helper()
	all := map[string]string{}
	for _, claim := range x.Spec.VolumeClaimTemplates {
		all[claim.Metadata.Name] = p.volume()
	}
	for _, v := range x.Spec.Template.Spec.Volumes {
		dir := p.volume()
		all[v.Name] = dir
		put := func(from, to string) {
			to = filepath.Join(dir, to)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				p.Fatal(err)
			}
			write(p.T, to, contents(p.T, filepath.Join(secrets, from)))
			if err := os.Chown(to, 0, podUser); err != nil {
				p.Fatal(err)
			}
			if err := os.Chmod(to, 0o440); err != nil {
				p.Fatal(err)
			}
		}
		if v.Secret != nil {
			files, err := filepath.Glob(filepath.Join(secrets, v.Secret.Name, "*"))
			if err != nil || len(files) == 0 {
				p.Fatalf("no secret %s: %v", v.Secret.Name, err)
			}
			for _, file := range files {
				put(filepath.Join(v.Secret.Name, filepath.Base(file)), filepath.Base(file))
			}
		}
		if v.Projected != nil {
			for _, s := range v.Projected.Sources {
				for _, item := range s.Secret.Items {
					put(filepath.Join(s.Secret.Name, item.Key), item.Path)
				}
			}
		}
	}
	return all
}

// kubectl stands for the program: secrets are folders.
const kubectl = `
kubectl() {
	[ "$*" = "create namespace shatter" ] || [ "$*" = "apply -k deploy/kubernetes" ] && return
	[ "$1 $2 $3 $4 $5" = "-n shatter create secret generic" ]
	mkdir -p "secrets/$6"
	secret=$6; shift 6
	for a in "$@"; do
		file=${a#--from-file=}
		if [ -d "$file" ]; then cp "$file"/* "secrets/$secret/"; else cp "$file" "secrets/$secret/"; fi
	done
}
`

// What is at the head of kustomization.yaml sets up what the pods need: three servers, two
// coordinators and two workers, each with what it mounts and nothing else, end a sweep, although the
// leader of the servers is killed in the middle. Only the kubelet is not real.
func TestPodsOfKubernetes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := newPods(t)
	commands := commandsOf(t, deployed("kubernetes", "kustomization.yaml"))
	dir := p.setUp(kubectl, strings.Replace(commands, "seq 0 49", "seq 0 1", 1))
	secrets := filepath.Join(dir, "secrets")
	nats, workers := statefulSet(t, "nats.yaml"), statefulSet(t, "workers.yaml")
	coordinators := statefulSet(t, "coordinator.yaml")
	var servers, all []*pod
	for i := range 3 {
		servers = append(servers, nats.pod(p, i, secrets))
	}
	for i := range 2 {
		all = append(all, coordinators.pod(p, i, secrets), workers.pod(p, i, secrets))
	}
	var running []*exec.Cmd
	for _, s := range servers {
		running = append(running, p.start(s))
	}
	for _, x := range all {
		p.start(x)
	}
	for _, x := range append(all, servers...) {
		waitFor(t, "all probes of "+x.name+" succeed", func() bool { return len(x.probes) == 2 && p.well(x) })
	}
	client := " --server tls://localhost:4222 --tls-ca cluster/ca.pem --creds cluster/submitter.creds"
	waitFor(t, "both workers are there", func() bool {
		out, err := p.try(servers[0], dir, "shatter workers"+client)
		return err == nil && strings.Contains(out, "2 workers")
	})
	write(t, filepath.Join(dir, "sweep.yaml"), clusterSweep)
	id := strings.TrimSpace(p.here(servers[0], dir, "shatter submit sweep.yaml 2>/dev/null"+client))
	leader := regexp.MustCompile(`"leader": "nats-(\d)\.nats"`).FindStringSubmatch(p.get(servers[0], "8222", "/jsz"))
	if leader == nil {
		t.Fatal("the servers have no leader")
	}
	gone := int(leader[1][0] - '0')
	_ = running[gone].Process.Signal(syscall.SIGKILL)
	person := servers[(gone+1)%3]
	for _, s := range running {
		if log := contents(t, s.Stdout.(*os.File).Name()); strings.Contains(log, "x509") {
			t.Errorf("a server does not trust another one:\n%s", log)
		}
	}
	want := (&cluster{T: t}).local(clusterSweep)
	if got := digest(t, p.here(person, dir, "shatter watch "+id+client)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// composeFile is what is read of deploy/compose.yaml.
type composeFile struct {
	Services map[string]struct {
		Image, User string
		Command     []string
		WorkingDir  string `yaml:"working_dir"`
		Environment map[string]string
		Volumes     []string
	}
}

// What is at the head of compose.yaml sets up what the containers need, and they end a sweep.
func TestPodsOfCompose(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := newPods(t)
	file := deployed("compose.yaml")
	before, submit, ok := strings.Cut(commandsOf(t, file), "shatter submit")
	if !ok {
		t.Fatal("the manifest does not say how to submit a sweep")
	}
	_, before, _ = strings.Cut(before, "\n") // the images are TestContainers'
	dir := p.setUp("sudo() { \"$@\"; }\ndocker() { :; }\n", before)
	var compose composeFile
	if err := yaml.Unmarshal([]byte(contents(t, file)), &compose); err != nil {
		t.Fatal(err)
	}
	built := images(t)
	made := map[string]*pod{}
	for name, s := range compose.Services {
		if s.User != "65532:65532" {
			t.Errorf("%s runs as user %s", name, s.User)
		}
		image := built[strings.TrimPrefix(s.Image, "localhost/")]
		if image.entry == nil {
			image.entry = []string{"nats-server"} // of NATS' own image, as is what it keeps
		}
		x := &pod{
			name: name, args: append(slices.Clone(image.entry), s.Command...), env: image.env,
			dir: "/" + strings.TrimPrefix(s.WorkingDir, "/"), mounts: map[string]string{"/tmp": p.volume()},
		}
		for key, value := range s.Environment {
			x.env = append(x.env, key+"="+value)
		}
		for _, v := range s.Volumes {
			parts := strings.Split(v, ":")
			switch {
			case strings.HasPrefix(v, "./"):
				x.mounts[parts[1]] = filepath.Join(dir, "deploy", parts[0])
			default:
				x.mounts[parts[len(parts)-1]] = p.volume()
			}
		}
		p.connect(x)
		made[name] = x
	}
	for _, x := range made {
		p.start(x)
	}
	write(t, filepath.Join(dir, "sweep.yaml"), clusterSweep)
	want := (&cluster{T: t}).local(clusterSweep)
	server := made["nats"] // whose port is this machine's
	waitFor(t, "the server is there", func() bool {
		_, err := p.try(server, dir, "shatter sweeps "+submit[strings.Index(submit, "--server"):])
		return err == nil
	})
	if got := digest(t, p.here(server, dir, "shatter submit "+strings.TrimSpace(submit)+" --wait")); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
