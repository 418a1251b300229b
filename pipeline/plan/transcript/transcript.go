// Package transcript records what plugins and data files say to a planner, and says it again where
// neither is at hand.
//
// It promises that a plan made from a transcript is the plan that was made when it was recorded,
// byte for byte, as long as the sweep file and the planner are the same; where these differ so that
// something else is asked, a MissingError says what. Plugins and data files are not looked at, so
// it is for others to know whether they are still the same.
//
// Start with Recorder, which stands between a planner and its plugins, and with Recall.
package transcript

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
	"github.com/shatterlab/shatter/schemas/transcriptv1"
)

// A transcript begins with header, the version of its form and a line break. The rest is a
// transcriptv1.Transcript, compressed with zstd.
const (
	header  = "shatter transcript "
	version = "1"
)

// The most bytes of a transcript that is read, unpacked, and the most for each byte of it packed.
const (
	maxSize  = 256 << 20
	maxRatio = 512
)

// key stands for a setting, or an answer.
type key [16]byte

// keyFor returns the key of something in its deterministic form.
func keyFor(b []byte) key {
	sum := sha256.Sum256(b)
	return key(sum[:])
}

func keyOf(s *pluginv1.Setting) (key, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return key{}, fmt.Errorf("write a setting of %q: %w", s.GetAlgorithm(), err)
	}
	return keyFor(b), nil
}

// problemName tells the problems of a sweep file apart.
type problemName struct{ written, file string }

func nameOf(written *schemas.Problem) (problemName, error) {
	b, err := trial.Canonical(written)
	if err != nil {
		return problemName{}, err
	}
	file, _ := written.File()
	return problemName{string(b), file}, nil
}

// encode writes a transcript. The answers are nearly all of it, and are not copied.
func encode(t *transcriptv1.Transcript) ([]byte, error) {
	rest := &transcriptv1.Transcript{Plugins: t.Plugins, Problems: t.Problems}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("write transcript: %w", err)
	}
	packed := bytes.NewBufferString(header + version + "\n")
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	w.ResetContentSize(packed, int64(proto.Size(t)))
	_, err = w.Write(b)
	answers := t.ProtoReflect().Descriptor().Fields().ByName("answers").Number()
	for i := 0; i < len(t.Answers) && err == nil; i++ { // the last field of the message
		field := protowire.AppendTag(b[:0], answers, protowire.BytesType)
		field = protowire.AppendVarint(field, uint64(len(t.Answers[i])))
		if _, err = w.Write(field); err == nil {
			_, err = w.Write(t.Answers[i])
		}
	}
	err = cmp.Or(err, w.Close())
	return packed.Bytes(), err
}

// decode reads a transcript, whoever has written it.
func decode(data []byte) (*transcriptv1.Transcript, error) {
	rest, ok := bytes.CutPrefix(data, []byte(header))
	line, packed, whole := bytes.Cut(rest, []byte("\n"))
	switch {
	case !ok || !whole || len(line) > 20:
		return nil, errors.New("it is none")
	case string(line) != version:
		return nil, &schemas.VersionError{What: "it", Found: string(line), Want: version}
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(min(maxSize, 1<<20+maxRatio*uint64(len(packed)))))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := r.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack it: %w", err)
	}
	t := new(transcriptv1.Transcript)
	return t, proto.Unmarshal(b, t)
}
