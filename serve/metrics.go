package serve

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tvmgo/serve/oip"
	"tvmgo/serve/queue"
)

// metrics are the counters of a server. Their names are those of Triton with the prefix tvmgo instead of nv, so that
// rules and pictures made for it need no other change.
type metrics struct {
	registry *prometheus.Registry

	success, failure, count, executions                 *prometheus.CounterVec
	requestTime, queueTime, computeTime                 *prometheus.CounterVec
	requestSeconds, queueSeconds, computeSeconds, batch *prometheus.HistogramVec
}

// reasons are the values of the label reason of failed requests.
var reasons = map[oip.Code]string{oip.ResourceExhausted: "REJECTED", oip.Unavailable: "REJECTED",
	oip.DeadlineExceeded: "TIMEOUT", oip.Canceled: "CANCELED", oip.Internal: "BACKEND"}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help},
			append([]string{"model", "version"}, labels...))
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{"model", "version"})
		m.registry.MustRegister(h)
		return h
	}
	m.success = counter("tvmgo_inference_request_success", "Requests that were answered with results.")
	m.failure = counter("tvmgo_inference_request_failure", "Requests that were answered with an error.", "reason")
	m.count = counter("tvmgo_inference_count", "Rows that models have computed, each of a batch.")
	m.executions = counter("tvmgo_inference_exec_count", "Calls of models; a batch is one.")
	m.requestTime = counter("tvmgo_inference_request_duration_us", "Sum of the times of requests, with the queue.")
	m.queueTime = counter("tvmgo_inference_queue_duration_us", "Sum of the times of requests in the queue.")
	m.computeTime = counter("tvmgo_inference_compute_infer_duration_us", "Sum of the times of requests in the model.")
	seconds := prometheus.ExponentialBuckets(50e-6, 2, 20) // to 26 s
	m.requestSeconds = histogram("tvmgo_inference_request_seconds", "Time of a request, with the queue.", seconds)
	m.queueSeconds = histogram("tvmgo_inference_queue_seconds", "Time of a request in the queue.", seconds)
	m.computeSeconds = histogram("tvmgo_inference_compute_seconds", "Time of a request in the model.", seconds)
	m.batch = histogram("tvmgo_inference_batch_size", "Rows of a call of the model.",
		prometheus.ExponentialBuckets(1, 2, 10))
	m.registry.MustRegister(&gauges{s}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler answers requests for the metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// modelMetrics are those of the models of one name, found once: they go on when the model is loaded again.
type modelMetrics struct {
	success, count, executions                   prometheus.Counter
	requestTime, queueTime, computeTime          prometheus.Counter
	requestSeconds, queueSeconds, computeSeconds prometheus.Observer
	batch                                        prometheus.Observer
	recent                                       *recent
	statistics                                   statistics
}

func (m *metrics) model(name string) *modelMetrics {
	l := []string{name, theVersion}
	return &modelMetrics{
		success: m.success.WithLabelValues(l...), count: m.count.WithLabelValues(l...),
		executions:  m.executions.WithLabelValues(l...),
		requestTime: m.requestTime.WithLabelValues(l...), queueTime: m.queueTime.WithLabelValues(l...),
		computeTime:    m.computeTime.WithLabelValues(l...),
		requestSeconds: m.requestSeconds.WithLabelValues(l...), queueSeconds: m.queueSeconds.WithLabelValues(l...),
		computeSeconds: m.computeSeconds.WithLabelValues(l...), batch: m.batch.WithLabelValues(l...),
		recent: &recent{},
	}
}

// executed counts a call of the model with so many rows, which took a time.
func (m *modelMetrics) executed(rows int, took time.Duration) {
	m.executions.Inc()
	m.count.Add(float64(rows))
	m.batch.Observe(float64(rows))
	m.statistics.executed(rows, took)
}

// request counts a request that has an answer. e is nil if there is no such model: names that clients make up are not
// counted.
func (m *metrics) request(e *entry, start time.Time, t queue.Times, err error) {
	if e == nil {
		return
	}
	if err != nil {
		reason := "OTHER"
		var known *oip.Error
		if errors.As(err, &known) && reasons[known.Code] != "" {
			reason = reasons[known.Code]
		}
		m.failure.WithLabelValues(e.name, theVersion, reason).Inc()
		e.metrics.statistics.failed(time.Since(start))
		return
	}
	c := e.metrics
	c.success.Inc()
	whole, waited, computed := time.Since(start), t.Wait(), t.Run()
	c.statistics.succeeded(whole, waited, computed)
	for _, d := range []struct {
		sum  prometheus.Counter
		dist prometheus.Observer
		time time.Duration
	}{{c.requestTime, c.requestSeconds, whole}, {c.queueTime, c.queueSeconds, waited},
		{c.computeTime, c.computeSeconds, computed}} {
		d.sum.Add(float64(d.time) / 1e3)
		d.dist.Observe(d.time.Seconds())
	}
	c.recent.add(whole)
}

// gauges are read when metrics are asked for.
type gauges struct{ s *Server }

var (
	pendingDesc = prometheus.NewDesc("tvmgo_inference_pending_request_count", "Requests in the queue.",
		[]string{"model", "version"}, nil)
	readyDesc = prometheus.NewDesc("tvmgo_model_ready", "1 if the model takes requests, else 0.",
		[]string{"model", "version"}, nil)
)

// Describe is for the registry.
func (g *gauges) Describe(to chan<- *prometheus.Desc) { to <- pendingDesc; to <- readyDesc }

// Collect is for the registry.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	for _, e := range g.s.all() {
		ready, waiting := 0.0, 0.0
		if l := e.current.Load(); l != nil {
			ready, waiting = 1, float64(l.queue.Stats().Waiting)
		}
		to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready, e.name, theVersion)
		to <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, waiting, e.name, theVersion)
	}
}
