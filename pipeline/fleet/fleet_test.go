package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func someWorker() *Worker {
	return &Worker{
		Name: "w-1", Began: time.Unix(1, 0).UTC(), Slots: 2, Build: "b", Platform: "linux/amd64", Profile: "p",
		Plugins: []string{"builtin"}, Allows: []string{"abc"}, Held: []Held{{"s", 7, "j", 1.5}},
		Refusals: []Refusal{{What: "data x", Reason: "disk full", Faults: 2, Until: time.Unix(9, 0).UTC()}},
	}
}

func TestDecode(t *testing.T) {
	data, err := someWorker().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(someWorker().Name, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someWorker(), got); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*Worker){
		"no name":    func(w *Worker) { w.Name = "" },
		"another":    func(w *Worker) { w.Name = "another" },
		"a dot":      func(w *Worker) { w.Name = "a.b" },
		"no slots":   func(w *Worker) { w.Slots = 0 },
		"many slots": func(w *Worker) { w.Slots = 1 << 20 },
		"many jobs":  func(w *Worker) { w.Held = make([]Held, mostHeld+1) },
		"long text":  func(w *Worker) { w.Refusals[0].Reason = strings.Repeat("x", longest+1) },
	} {
		w := someWorker()
		change(w)
		from := w.Name
		if name == "another" {
			from = someWorker().Name
		}
		data, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(from, data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A brief announcement is short however many plugins there are. With one before it that has the same list
// it says as much.
func TestBrief(t *testing.T) {
	w := someWorker()
	for i := range 100 {
		w.Plugins = append(w.Plugins, strings.Repeat(string(rune('a'+i%26)), 64))
	}
	data, err := w.Brief().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 500 {
		t.Errorf("%d bytes: %s", len(data), data)
	}
	other := someWorker()
	for name, test := range map[string]struct {
		last *Worker
		want *Worker
	}{"the same list": {w, w}, "nothing before": {nil, nil}, "another list": {other, nil}} {
		got, err := Decode(w.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		if complete := got.Complete(test.last); complete != (test.want != nil) {
			t.Errorf("%s: complete is %v", name, complete)
		}
		if diff := cmp.Diff(test.want, got); test.want != nil && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if !other.Complete(nil) {
		t.Error("an announcement with its list is not complete")
	}
}

// What a worker says of itself takes little room in a reason.
func TestBriefReasons(t *testing.T) {
	w := someWorker()
	w.Profile, w.Build, w.Platform = strings.Repeat("p\n", 500), strings.Repeat("b", 1000), strings.Repeat("f", 1000)
	for _, n := range []Need{{Profile: "q"}, {Plugin: "none"}, {Plugin: "none", Name: "file"}} {
		if got := w.Cannot(n, time.Now()); got == "" || len(got) > 300 || strings.Contains(got, "\n") {
			t.Errorf("%+v: %q", n, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data, err := someWorker().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(Why{Fault, "data", "disk full"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if w, err := Decode(someWorker().Name, data); err == nil && (w.Slots < 1 || w.Slots > mostSlots || w.Name == "") {
			t.Errorf("%+v", w)
		}
		if y, err := DecodeWhy(data); err == nil && y.Kind != Fault && y.Kind != Cannot && y.Kind != Drain {
			t.Errorf("%+v", y)
		}
	})
}

func TestCannot(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		change func(*Worker)
		need   Need
		want   string
	}{
		"it can":           {nil, Need{Plugin: "builtin"}, ""},
		"any profile":      {nil, Need{Plugin: "builtin", Profile: "p"}, ""},
		"another profile":  {nil, Need{Plugin: "builtin", Profile: "q"}, "float profile p"},
		"another build":    {nil, Need{Plugin: "other"}, "built-in algorithms"},
		"allowed plugin":   {nil, Need{Plugin: "abc", Name: "/x"}, ""},
		"forbidden plugin": {nil, Need{Plugin: "def", Name: "/x"}, "/x"},
		"leaving":          {func(w *Worker) { w.Leaving = true }, Need{Plugin: "builtin"}, "leaving"},
		"time enough":      {func(w *Worker) { w.Until = now.Add(time.Minute) }, Need{Plugin: "builtin", Seconds: 50}, ""},
		"no time":          {func(w *Worker) { w.Until = now.Add(time.Minute) }, Need{Plugin: "builtin", Seconds: 70}, "no time"},
	} {
		w := someWorker()
		if test.change != nil {
			test.change(w)
		}
		if got := w.Cannot(test.need, now); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestExplain(t *testing.T) {
	got := Explain(map[string]string{"c": "is leaving", "a": "has no time left for it", "b": "is leaving"})
	if want := "worker a has no time left for it; worker b (and 1 more) is leaving"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Explain(nil); got != "there are no workers" {
		t.Error(got)
	}
}

// A brief announcement is completed by a complete one alone: after another brief one, the plugins are still
// not known.
func TestBriefAfterBrief(t *testing.T) {
	w := &Worker{Name: "w", Slots: 1, Plugins: []string{"p"}}
	first, second := w.Brief(), w.Brief()
	if first.Complete(nil) || second.Complete(first) {
		t.Errorf("completed: %+v, %+v", first, second)
	}
	if !second.Complete(w) || len(second.Plugins) != 1 {
		t.Errorf("not completed: %+v", second)
	}
}
