package serve

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/internal/testing/testseed"
	"tvmgo/runtime"
	"tvmgo/serve/oip"
)

// layers is a network whose results are exact for small integers.
const layers = `func main(x: float32[n, 4]) {
  const u: float32[4, 8] = {1, -2, 3, 0, 2, 1, -1, 4, 0, 1, 2, -3, 1, 1, -2, 2, 5, 0, -1, 1, 2, -2, 3, 1,
    1, 2, 0, -1, 3, 1, -4, 2}
  const v: float32[8, 3] = {1, 2, -1, 0, 3, 1, -2, 1, 1, 4, 0, -1, 2, 2, 1, -3, 1, 0, 1, 1, 1, 0, -1, 2}
  h: float32[n, 8] = matmul(x, u)
  r: float32[n, 8] = relu(h)
  y: float32[n, 3] = matmul(r, v)
  return y
}`

// rows asks the model layers for rows of numbers.
func rows(s *Server, values []float32) ([]float32, error) {
	r := &oip.Request{Model: "layers", Inputs: []oip.Tensor{{Name: "x", DType: dlpack.Float32,
		Shape: []int64{int64(len(values) / 4), 4}}}}
	if err := s.Alloc(&r.Inputs[0]); err != nil {
		return nil, err
	}
	if err := runtime.CopyFrom(r.Inputs[0].Owner.(*runtime.Tensor), values); err != nil {
		return nil, err
	}
	answer, err := s.Infer(context.Background(), r)
	if err != nil {
		return nil, err
	}
	defer s.Release(answer.Outputs)
	return runtime.ToSlice[float32](answer.Outputs[0].Owner.(*runtime.Tensor))
}

// TestDevices serves a model on two devices of each kind, with two instances on each, in batches, while it is loaded
// again. The results are those of the CPU, and the memory of the devices is free at the end.
func TestDevices(t *testing.T) {
	serve := func(t *testing.T, o ModelOptions, targets ...string) *Server {
		file := filepath.Join(t.TempDir(), "layers.so")
		servetest.Library(t, file, layers, targets...)
		return must.Get(New(t.Context(), Options{Models: []string{file}, Model: o,
			Logger: slog.New(slog.DiscardHandler)}))(t)
	}
	cpu := serve(t, ModelOptions{})
	defer func() { require.NoError(t, cpu.Shutdown(context.Background())) }()
	compare := func(t *testing.T, s *Server, x []float32) {
		want, err := rows(cpu, x)
		got, err2 := rows(s, x)
		if err != nil || err2 != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: got %v, %v; want %v, %v", x, got, err2, want, err)
		}
	}
	for kind, on := range map[string]dlpack.DeviceType{"opencl": dlpack.OpenCL, "vulkan": dlpack.Vulkan,
		`{"kind": "cuda", "arch": "sm_90", "host": "c"}`: dlpack.CUDA} {
		t.Run(on.String(), func(t *testing.T) {
			if on == dlpack.CUDA {
				cudarun.Use(t)
			}
			devices := []dlpack.Device{{Type: on}, {Type: on, ID: 1}}
			for _, d := range devices {
				if !runtime.DeviceExists(d) {
					gputest.Missing(t, on, fmt.Sprintf("there is no device %v", d))
				}
			}
			used := func(d dlpack.Device) int64 { return must.Get(runtime.DeviceMemory(d))(t).Data }
			leaks.Check(t, func() [5]int64 {
				l := runtime.Live()
				return [5]int64{l.Tensors, l.Modules, l.Functions, used(devices[0]), used(devices[1])}
			})
			before := []int64{used(devices[0]), used(devices[1])}
			s := serve(t, ModelOptions{Devices: devices, Instances: 2, MaxBatch: 8}, kind)
			require.Equal(t, []string{devices[0].String(), devices[1].String()}, s.Status().Models[0].Devices)
			for i, d := range devices {
				require.Greater(t, used(d), before[i], "%v has no weights", d)
			}
			const clients, requests = 8, 6
			rng := testseed.Rand(t)
			var all sync.WaitGroup
			for range clients {
				r := rand.New(rand.NewPCG(rng.Uint64(), 0))
				all.Go(func() {
					for range requests {
						x := make([]float32, 4*(1+r.IntN(4)))
						for i := range x {
							x[i] = float32(r.IntN(201) - 100)
						}
						compare(t, s, x)
					}
				})
			}
			for range 2 {
				require.NoError(t, s.Reload(t.Context()))
			}
			all.Wait()
			st := must.Get(s.Statistics("layers", ""))(t)[0]
			require.EqualValues(t, clients*requests, st.Success.Count)
			require.NoError(t, s.Shutdown(context.Background()))

			// Four that wait for each other are one batch.
			s = serve(t, ModelOptions{Devices: devices, MaxBatch: 4, Preferred: []int{4}, Delay: Duration(time.Hour)}, kind)
			for i := range 4 {
				all.Go(func() { compare(t, s, []float32{float32(i), 1, 2, 3}) })
			}
			all.Wait()
			require.EqualValues(t, 1, must.Get(s.Statistics("layers", ""))(t)[0].Executions)
			require.NoError(t, s.Shutdown(context.Background()))
		})
	}
}
