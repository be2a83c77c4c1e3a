package daemon_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/internal/testing/testseed"
	tvm "tvmgo/runtime"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
	"tvmgo/serve/oip/inference"
)

const clients = 64

// footprint is what must not grow with the number of requests.
type footprint struct {
	heap, resident int64 // bytes
	objects        [4]int64
	goroutines     int
}

// objects counts what the runtime has for models and requests.
func objects() [4]int64 {
	l := tvm.Live()
	return [4]int64{l.Tensors, l.Modules, l.Functions, l.Mappings}
}

func measure(t *testing.T) (f footprint) {
	t.Helper()
	f.objects = leaks.Settled(objects)
	debug.FreeOSMemory() // what was collected is not resident
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.heap, f.goroutines = int64(m.HeapAlloc), runtime.NumGoroutine()
	status := string(must.Get(os.ReadFile("/proc/self/status"))(t))
	kib := regexp.MustCompile(`VmRSS:\s*([0-9]+) kB`).FindStringSubmatch(status)
	f.resident = int64(must.Get(strconv.Atoi(kib[1]))(t)) << 10
	return f
}

// raceDetector says that the detector is on: it keeps memory for what the program has freed.
var raceDetector = false

// requireFlat compares what there is after a third of the requests with what there is after all of them. The bounds are
// less than a few hundred bytes for each request of the long form.
func requireFlat(t *testing.T, before footprint) {
	t.Helper()
	// Models that were replaced, and connections of clients that vanished, are closed some time later.
	most := before.goroutines + 2*clients
	leaks.Until(func() bool { return objects() == before.objects && runtime.NumGoroutine() <= most })
	now := measure(t)
	require.Equal(t, before.objects, now.objects, "tensors, modules, functions, libraries")
	require.LessOrEqual(t, now.goroutines, most)
	require.LessOrEqual(t, now.heap, before.heap+8<<20)
	if !raceDetector {
		require.LessOrEqual(t, now.resident, before.resident+64<<20)
	}
	t.Logf("heap %d to %d KiB, resident %d to %d KiB, %d to %d goroutines", before.heap>>10, now.heap>>10,
		before.resident>>10, now.resident>>10, before.goroutines, now.goroutines)
}

// run sends so many requests from all clients at once, while their models are loaded again.
func (l *load) run(t *testing.T, s *serve.Server, requests int, seed uint64) (reloads int) {
	t.Helper()
	var running, meanwhile sync.WaitGroup
	var left, failures atomic.Int64
	left.Store(int64(requests))
	ended := make(chan struct{})
	fail := func(err error) {
		if failures.Add(1) < 10 {
			t.Error(err)
		}
		left.Store(0)
	}
	for c := range clients {
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		running.Go(func() {
			for left.Add(-1) >= 0 {
				err := l.ask(r)
				if err == nil && c == 0 {
					err = l.rude(r)
				}
				if err != nil {
					fail(err)
				}
			}
		})
	}
	meanwhile.Go(func() {
		defer close(ended)
		running.Wait()
	})
	meanwhile.Go(func() {
		for at := int64(requests); ; runtime.Gosched() {
			select {
			case <-ended:
				return
			default:
			}
			if now := left.Load(); at-now > int64(min(requests/20, 1000)) {
				at = now
				reloads++
				if err := l.reload(s); err != nil {
					fail(err)
				}
			}
		}
	})
	if l.breaks != nil {
		meanwhile.Go(func() { l.breaks(&left, int64(requests), ended) })
	}
	meanwhile.Wait()
	require.Zero(t, failures.Load())
	return reloads
}

// reload loads all models again. Only one whose device fails may refuse.
func (l *load) reload(s *serve.Server) error {
	var before, after int64
	if l.fault != nil {
		before = l.fault.state.Load()
	}
	err := s.Reload(context.Background())
	if l.fault != nil {
		after = l.fault.state.Load()
	}
	if err != nil && (before != after || before == lost) && strings.Count(err.Error(), "load model") == 1 &&
		strings.Contains(err.Error(), "load model device") {
		return nil
	}
	return err
}

// requireCounted compares the server's counters with what clients saw. A client that vanished does not know what became
// of its request, or whether it arrived.
func (l *load) requireCounted(t *testing.T) {
	t.Helper()
	answer := must.Get(l.pool.Get("http://" + l.http + "/metrics"))(t)
	defer answer.Body.Close()
	text := string(must.Get(io.ReadAll(answer.Body))(t))
	count := func(format string, m *linear) (sum int64) {
		series := strings.Replace(format, "MODEL", m.name, 1)
		line := regexp.MustCompile(`(?m)^tvmgo_inference_request_` + series + ` ([0-9.e+]+)$`)
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			sum += int64(must.Get(strconv.ParseFloat(found[1], 64))(t))
		}
		return sum
	}
	for _, m := range l.models {
		gone := m.gone.Load()
		for _, c := range []struct {
			what, format string
			seen         int64
		}{
			{"success", `success\{model="MODEL",version="1"\}`, m.right.Load()},
			{"rejected", `failure\{model="MODEL",reason="REJECTED",version="1"\}`, m.refused.Load()},
			{"failed", `failure\{model="MODEL",reason="(?:BACKEND|OTHER|TIMEOUT)",version="1"\}`, m.failed.Load()},
			{"canceled", `failure\{model="MODEL",reason="CANCELED",version="1"\}`, 0},
		} {
			counted := count(c.format, m)
			require.GreaterOrEqual(t, counted, c.seen, "%s, %s", m.name, c.what)
			require.LessOrEqual(t, counted, c.seen+gone, "%s, %s", m.name, c.what)
			gone -= counted - c.seen
		}
		t.Logf("model %s: %d right, %d refused, %d failed, %d of %d that vanished were counted", m.name, m.right.Load(),
			m.refused.Load(), m.failed.Load(), m.gone.Load()-gone, m.gone.Load())
	}
}

// TestLoad has 64 connections over HTTP and gRPC, models that are loaded again meanwhile, clients that vanish, bodies
// that are cut off, clients that do not read their answers, and a device that fails for a while. No answer is lost,
// comes twice or belongs to another request; each is counted once; memory does not grow, and nothing is left behind.
func TestLoad(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the bounds of memory are not for another GOGC
	requests := 4000
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		requests = 100_000
	}
	dir := t.TempDir()
	l := &load{times: map[string][]time.Duration{}, models: []*linear{{name: "one", factor: 3, offset: 1},
		{name: "two", factor: 5, offset: 2, vanish: true}, {name: "three", factor: 7, offset: 3, vanish: true}}}
	for _, m := range l.models {
		servetest.Affine(t, filepath.Join(dir, m.name+".so"), m.factor, m.offset)
	}
	l.addDevice(t, filepath.Join(dir, "device.so"))
	leaks.Check(t, func() [3]int64 {
		l := tvm.Live() // some libraries stay open
		return [3]int64{l.Tensors, l.Modules, l.Functions}
	})
	servetest.Large(t, filepath.Join(dir, "large.so"))
	for name, settings := range map[string]string{
		"two":   `{"max_batch": 16, "batch_delay": "1ms", "preferred_batches": [8], "instances": 2}`,
		"three": `{"max_batch": 8, "queue": 2}`, "device": `{"max_batch": 8}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(settings), 0o600))
	}
	s := must.Get(serve.New(t.Context(), serve.Options{Models: []string{dir}, Logger: quiet,
		Limits: serve.Limits{Time: 24 * time.Hour}}))(t) // clients that do not read are there until the end
	d := must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0", Logger: quiet}))(t)
	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	l.http, l.grpc = d.HTTP.String(), inference.NewGRPCInferenceServiceClient(channel)
	l.pool = &http.Client{Transport: transport}
	const slow = 4
	var release []func()
	for range slow / 2 {
		release = append(release, stopReading(t, d.HTTP.String()).close, stopReceiving(t, d.GRPC.String(), 1).close)
	}

	seed := testseed.Of(t)
	reloads := l.run(t, s, requests/3, seed)
	before := measure(t)
	reloads += l.run(t, s, requests-requests/3, seed+1)
	requireFlat(t, before)
	l.requireCounted(t)
	var right, all int64
	for _, m := range l.models {
		right += m.right.Load()
		all += m.right.Load() + m.refused.Load() + m.failed.Load() + m.gone.Load()
		if m.fault != nil {
			require.Positive(t, m.failed.Load())
			require.EqualValues(t, repaired, m.fault.state.Load())
		}
	}
	require.EqualValues(t, requests, all)
	require.Greater(t, right, int64(requests/2))
	require.Positive(t, reloads)
	require.EqualValues(t, slow, must.Get(s.Statistics("large", ""))(t)[0].Success.Count)
	for _, f := range release {
		f()
	}
	require.NoError(t, channel.Close())
	transport.CloseIdleConnections()
	require.NoError(t, d.Stop())
	t.Logf("%d reloads", reloads)
	for _, way := range ways {
		n, p50, p99 := l.percentiles(way.name)
		t.Logf("%s: %d right, p50 %v, p99 %v", way.name, n, p50, p99)
	}
}
