package serve

import (
	"slices"
	"sync"
	"time"

	"tvmgo/serve/oip"
)

// statistics are those of the protocol for the models of one name. They are kept beside the metrics, which cannot be
// read back.
type statistics struct {
	mu  sync.Mutex
	sum oip.Statistics
}

func add(d *oip.Durations, took time.Duration) {
	d.Count++
	d.Total += took
}

func (s *statistics) succeeded(whole, waited, computed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Last = time.Now()
	add(&s.sum.Success, whole)
	add(&s.sum.Queue, waited)
	add(&s.sum.ComputeInfer, computed)
}

func (s *statistics) failed(whole time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Last = time.Now()
	add(&s.sum.Fail, whole)
}

// executed counts a call with so many rows.
func (s *statistics) executed(rows int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Inferences += uint64(rows)
	s.sum.Executions++
	at, known := slices.BinarySearchFunc(s.sum.Batches, uint64(rows), func(b oip.BatchStatistics, rows uint64) int {
		return int(int64(b.Size) - int64(rows))
	})
	const most = 1024 // sizes that are counted: clients choose them
	if !known && len(s.sum.Batches) == most {
		return
	}
	if !known {
		s.sum.Batches = slices.Insert(s.sum.Batches, at, oip.BatchStatistics{Size: uint64(rows)})
	}
	add(&s.sum.Batches[at].ComputeInfer, took)
}

// Statistics returns those of a model since the server started, also of what was loaded before under its name; of all
// that are loaded if the name is "".
func (s *Server) Statistics(name, version string) ([]oip.Statistics, error) {
	entries := s.all()
	if name != "" {
		e, _, err := s.serving(name, version)
		if err != nil {
			return nil, err
		}
		entries = []*entry{e}
	}
	list := []oip.Statistics{}
	for _, e := range entries {
		if e.current.Load() != nil {
			list = append(list, e.metrics.statistics.read(e.name))
		}
	}
	return list, nil
}

func (s *statistics) read(name string) oip.Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.sum
	sum.Model, sum.Version, sum.Batches = name, theVersion, slices.Clone(sum.Batches)
	return sum
}

// statisticsJSON has the fields that Triton gives statistics in JSON. Times are in nanoseconds.
func statisticsJSON(list []oip.Statistics) any {
	times := func(d oip.Durations) any { return map[string]any{"count": d.Count, "ns": d.Total.Nanoseconds()} }
	models := make([]any, len(list))
	for i, s := range list {
		batches := make([]any, len(s.Batches))
		for k, b := range s.Batches {
			batches[k] = map[string]any{"batch_size": b.Size, "compute_input": times(b.ComputeInput),
				"compute_infer": times(b.ComputeInfer), "compute_output": times(b.ComputeOutput)}
		}
		last := int64(0)
		if !s.Last.IsZero() {
			last = s.Last.UnixMilli()
		}
		models[i] = map[string]any{"name": s.Model, "version": s.Version, "last_inference": last,
			"inference_count": s.Inferences, "execution_count": s.Executions, "batch_stats": batches,
			"inference_stats": map[string]any{"success": times(s.Success), "fail": times(s.Fail), "queue": times(s.Queue),
				"compute_input": times(s.ComputeInput), "compute_infer": times(s.ComputeInfer),
				"compute_output": times(s.ComputeOutput)}}
	}
	return map[string]any{"model_stats": models}
}
