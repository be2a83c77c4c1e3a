package serve

import (
	"encoding/json"
	"net/http"
	"time"

	"tvmgo/serve/oip"
)

// Status is what the page shows: the answer of GET /v2/status.
type Status struct {
	Server json.RawMessage `json:"server"`
	Ready  bool            `json:"ready"`
	Models []ModelStatus   `json:"models"`
}

// ModelStatus is the state of a model. Times are in microseconds.
type ModelStatus struct {
	Name      string          `json:"name"`
	State     string          `json:"state"`
	Reason    string          `json:"reason,omitempty"`
	File      string          `json:"file,omitempty"`
	Devices   []string        `json:"devices,omitempty"`
	Instances int             `json:"instances,omitempty"` // on each device
	MaxBatch  int             `json:"max_batch,omitempty"` // 0: no batches
	Queue     int             `json:"queue"`               // requests that wait
	Running   int             `json:"running"`             // requests that workers have
	Capacity  int             `json:"capacity,omitempty"`  // of the queue
	Latency   *Latency        `json:"latency,omitempty"`   // nil before the first request
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// Latency has percentiles of the times of the last requests, in microseconds.
type Latency struct {
	P50 float64 `json:"p50_us"`
	P90 float64 `json:"p90_us"`
	P99 float64 `json:"p99_us"`
}

// Status describes the server and its models.
func (s *Server) Status() Status {
	about := s.Server()
	st := Status{Server: oip.MarshalServerMetadata(&about), Ready: s.Ready(), Models: []ModelStatus{}}
	for _, e := range s.all() {
		now := e.state.Load()
		m := ModelStatus{Name: e.name, State: now.name, Reason: now.reason}
		if l := e.current.Load(); l != nil {
			l.status(&m)
		}
		st.Models = append(st.Models, m)
	}
	return st
}

func (l *loaded) status(m *ModelStatus) {
	m.File, m.Instances = l.path, max(l.options.Instances, 1)
	m.Metadata, _ = oip.MarshalMetadata(&l.meta)
	if l.batches {
		m.MaxBatch = l.options.MaxBatch
	}
	for _, on := range l.models {
		m.Devices = append(m.Devices, on.Device().String())
	}
	q := l.queue.Stats()
	m.Queue, m.Running, m.Capacity = q.Waiting, q.Running, l.capacity()
	if p := l.metrics.recent.percentiles(50, 90, 99); p != nil {
		us := func(d time.Duration) float64 { return float64(d) / 1e3 }
		m.Latency = &Latency{P50: us(p[0]), P90: us(p[1]), P99: us(p[2])}
	}
}

func (l *loaded) capacity() int {
	if l.options.Queue == 0 {
		return defaultQueue
	}
	return l.options.Queue
}

func (s *Server) getStatus(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, s.Status())
}
