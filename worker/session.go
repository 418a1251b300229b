package worker

import (
	"context"
	"maps"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// A session runs the trials from..to-1 of a job in one session of a plugin. Its methods count these trials from 0.
type session struct {
	slot     *slot
	job      *jobRun
	from, to int
	host     *host.Session
	scores   *scores
	changes  []change // index: trial; empty if the task changes no samples
}

// run opens the session, plays and scores its trials, and records their outcomes. After an error it records nothing.
func (x *session) run(ctx context.Context, p *process) error {
	metrics, err := x.play(ctx, p)
	if err := x.checkSources(err); err != nil {
		return err
	}
	x.job.out.addWarnings(x.host.Warnings())
	x.job.out.record(x.from, x.scores, metrics)
	if x.job.Cell.Kind().Rounds() {
		for j := range x.trials() {
			x.slot.w.begunGames.Delete(x.name(j))
		}
	}
	return nil
}

// play opens the session, plays and scores its trials, and closes it. It returns the metrics of the trials.
func (x *session) play(ctx context.Context, p *process) (metrics map[string][]float64, err error) {
	req := host.OpenRequest{Setting: x.job.Cell.Setting(x.job.N), Seeds: x.seeds(), Name: x.name}
	if req.Setting.Offline {
		req.Reveal = x.revealQueries
	}
	var faults []host.Fault
	x.slot.pluginTimer.start()
	x.host, faults, err = p.Open(ctx, req, x.drawSamples)
	x.slot.pluginTimer.stop()
	if err != nil {
		return nil, err
	}
	x.scores = newScores(x.trials())
	x.scores.addFaults(faults)
	played, err := x.job.Cell.Kind().Play(x, ctx)
	if err != nil {
		return nil, err
	}
	x.slot.pluginTimer.start()
	metrics, faults, err = x.host.Close(ctx, played.Truths)
	x.slot.pluginTimer.stop()
	if err != nil {
		return nil, err
	}
	x.scores.addFaults(faults)
	maps.Copy(metrics, played.Metrics)
	return metrics, nil
}

func (x *session) trials() int { return x.to - x.from }

// name returns the ID of a trial.
func (x *session) name(trial int) string {
	return x.job.Cell.TrialID(x.job.N, x.job.Repetition(x.from+trial))
}

func (x *session) repetition(trial int) uint32 { return uint32(x.job.Repetition(x.from + trial)) }

// seeds returns the algorithm's seeds, two words per trial.
func (x *session) seeds() []uint64 {
	words := make([]uint64, 0, 2*x.trials())
	for j := range x.trials() {
		hi, lo := x.seed(x.job.Cell.NoiseKey, trial.AlgorithmNoise, j)
		words = append(words, hi, lo)
	}
	return words
}

// seed returns the seed of a stream of a trial.
func (x *session) seed(key trial.Key, s trial.Stream, j int) (hi, lo uint64) {
	return trial.Seed(key, s, uint64(x.job.N), x.repetition(j))
}

func (x *session) dataSeed(s trial.Stream, j int) (hi, lo uint64) {
	return x.seed(x.job.Cell.DataKey, s, j)
}

// beginTrial reseeds the given data streams for a trial and draws its target.
func (x *session) beginTrial(trialIndex int, streams ...trial.Stream) {
	x.begin(x.repetition(trialIndex), streams...)
}

// begin reseeds the given data streams for a repetition and draws its target.
func (x *session) begin(repetition uint32, streams ...trial.Stream) {
	all := &x.slot.streams
	for _, s := range streams {
		all[s].Seed(trial.Seed(x.job.Cell.DataKey, s, uint64(x.job.N), repetition))
	}
	x.job.drawer.Begin(problem.Streams{
		Target: &all[trial.Target], Points: &all[trial.Points],
		LabelNoise: &all[trial.LabelNoise], TestPoints: &all[trial.TestPoints],
	})
}

// newTrialDrawer returns a separate drawer for a trial, with its target drawn. Trials that play against an adversary
// in lock step need one each, because each has its own target.
func (x *session) newTrialDrawer(trialIndex int) *problem.Drawer {
	target := new(rand.PCG)
	target.Seed(x.dataSeed(trial.Target, trialIndex))
	d := x.job.newDrawer()
	d.Begin(problem.Streams{Target: target, Points: target, LabelNoise: target, TestPoints: target})
	return d
}

func (x *session) adversaryStream(trialIndex int, s trial.Stream) *rand.PCG {
	stream := new(rand.PCG)
	stream.Seed(x.seed(x.job.Cell.AdversaryKey, s, trialIndex))
	return stream
}

// drawSamples draws the samples of all trials, one after another: points into points, row-major, and labels into y. A
// call into the plugin is waiting meanwhile.
func (x *session) drawSamples(points, y []float64) {
	x.slot.pluginTimer.stop()
	defer x.slot.pluginTimer.start()
	n, dim := int(x.job.N), x.job.pop.Dim()
	streams := []trial.Stream{trial.Target, trial.Points, trial.LabelNoise}
	if x.job.Cell.Problem.Noise.Rate == 0 { // no label is wrong, so the stream is not needed
		streams = streams[:2]
	}
	if x.job.Cell.Kind().Change != nil {
		x.drawChanged(points, y, streams)
		return
	}
	if x.job.pop.Generated() {
		for j := range x.trials() {
			x.beginTrial(j, streams...)
			x.job.drawer.AnnounceSample(n)
		}
	}
	for j := range x.trials() {
		x.beginTrial(j, streams...)
		x.job.drawer.Sample(n, points[j*n*dim:(j+1)*n*dim], y[j*n:(j+1)*n])
	}
}
