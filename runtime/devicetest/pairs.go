package devicetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// pairSizes has the sizes in bytes of copies between two devices: one byte, sizes near those at which drivers change
// their method, and sizes that are copied in several chunks.
var pairSizes = []int64{1, 255, 4097, 256 << 10, 4<<20 + 1, 64 << 20}

// copyPairs copies between every pair of devices, on the default stream and on streams of the source and of the
// destination. A copy must be complete when its stream is. The result is read on another stream, which waits for
// nothing.
func (s *suite) copyPairs(t *testing.T) {
	devs := []dlpack.Device{s.dev}
	if s.hasSecond() {
		devs = append(devs, s.opts.Second)
	}
	if s.dev.Type != dlpack.CPU {
		devs = append(devs, runtime.CPU)
	}
	for _, from := range devs {
		for _, to := range devs {
			if from == s.dev || to == s.dev { // the suite of the second device checks the other pairs
				s.copyPair(t, from, to)
			}
		}
	}
}

// pairStream is the stream of a copy; q is nil for the default stream.
type pairStream struct {
	name string
	of   dlpack.Device
	q    *runtime.Stream
}

// wait waits for the stream only.
func (p pairStream) wait(t *testing.T) error {
	if p.q == nil {
		return runtime.SyncDevice(t.Context(), p.of)
	}
	return p.q.Sync(t.Context())
}

func (s *suite) copyPair(t *testing.T, from, to dlpack.Device) {
	var streams []pairStream
	add := func(name string, dev dlpack.Device) {
		q := must.Get(runtime.NewStream(dev))(t)
		if streams = append(streams, pairStream{name, dev, q}); q.Handle() == 0 { // the device has only its default stream
			streams = streams[:len(streams)-1]
			require.NoError(t, q.Close())
		}
	}
	owner := from // NULL is the default stream of the source, or of the destination if the source is host memory
	if from.Type == dlpack.CPU {
		owner = to
	}
	streams = append(streams, pairStream{"the default stream", owner, nil})
	if from.Type != dlpack.CPU {
		add("a stream of the source", from)
	}
	if to.Type != dlpack.CPU {
		add("a stream of the destination", to)
	}
	reader := must.Get(runtime.NewStream(to))(t)
	for _, n := range pairSizes {
		data := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz."), int(n/37)+1)[:n]
		got := make([]byte, n)
		src := must.Get(runtime.NewTensor(dlpack.UInt8, []int64{n}, from))(t)
		dst := must.Get(runtime.NewTensor(dlpack.UInt8, []int64{n}, to))(t)
		back := must.Get(runtime.NewTensor(dlpack.UInt8, []int64{n}, runtime.CPU))(t)
		for round, on := range streams {
			what := fmt.Sprintf("%d bytes from %v to %v on %s", n, from, to, on.name)
			data[0], data[n-1] = byte(round), byte(round) // differs from the data of the previous copy
			data[n/2] = byte(round)
			require.NoError(t, src.CopyFromBytes(data), what)
			require.NoError(t, dst.CopyFromTensor(src, on.q), what)
			require.NoError(t, on.wait(t), what)
			require.NoError(t, back.CopyFromTensor(dst, reader), what)
			require.NoError(t, reader.Sync(t.Context()), what)
			require.NoError(t, back.CopyToBytes(got), what)
			require.True(t, bytes.Equal(data, got), "%s: all bytes are there when the stream is done", what)
		}
		require.NoError(t, back.Close())
		require.NoError(t, dst.Close())
		require.NoError(t, src.Close())
	}
	require.NoError(t, reader.Close())
	for _, on := range streams {
		if on.q != nil {
			require.NoError(t, on.q.Close())
		}
	}
}
