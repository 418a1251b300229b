package lead

import (
	"encoding/json"
	"testing"

	"github.com/shatterlab/shatter/pipeline/queue"
)

// ReadRecord returns an error or a usable record for any content of the registry.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"format":2}`), []byte(`{}`), []byte(`{}`), []byte(`{}`))
	f.Add([]byte(`{"format":2,"name":"x","plugins":[{}],"files":{"a":"b"}}`), []byte(`{"do":"run","priority":1}`),
		[]byte(`{"epoch":1,"files":[{"name":"ledger/0001.log","size":1}]}`), []byte(`{"epoch":1,"summary":{"Digest":"d"}}`))
	f.Fuzz(func(t *testing.T, submission, desired, ledger, end []byte) {
		r, err := ReadRecord(&queue.Entry{ID: "id", Submission: submission, Desired: desired, Ledger: ledger, End: end})
		if err != nil {
			return
		}
		if w := r.Desired.Weight; w != 0 && CheckWeight(w) != nil {
			t.Errorf("its weight is %v", w)
		}
		if _, err := json.Marshal(r.Submission); err != nil {
			t.Errorf("it cannot be written again: %v", err)
		}
	})
}

// Requests and answers may contain anything.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(shipRequest))
	f.Add([]byte(`{"leader":"c","epoch":3,"progress":{"Done":1,"NoWorkers":true},"log":["x\u001b[2J"],"reason":"none"}`))
	f.Add([]byte(`{"progress":null,"log":null,"error":"disk full"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		asked := (&term{server: &server{}, lines: &lines{}}).answer(raw)
		if a, err := decodeAnswer(asked); err != nil || a.Error != "" {
			t.Errorf("the answer to %q is %q", raw, asked)
		}
		if a, err := decodeAnswer(raw); err == nil && len(a.Log) > len(raw) {
			t.Errorf("%q has %d lines", raw, len(a.Log))
		}
	})
}
