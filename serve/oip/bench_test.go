package oip

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// numbers returns count numbers of JSON, as a client writes float32 (float32 = true) or float64.
func numbers(count int, single bool) string {
	random := rand.New(rand.NewPCG(1, 2))
	var list []string
	for range count {
		v := random.NormFloat64()
		if single {
			list = append(list, fmt.Sprint(float32(v)))
		} else {
			list = append(list, fmt.Sprint(float64(float32(v))))
		}
	}
	return strings.Join(list, ",")
}

func jsonRequest(count int, single bool) string {
	return fmt.Sprintf(`{"id":"7","inputs":[{"name":"x","shape":[1,%d],"datatype":"FP32","data":[%s]}]}`, count,
		numbers(count, single))
}

func BenchmarkReadRequest(b *testing.B) {
	large := fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}]}`,
		1<<18, 1<<20)
	memory := make([]byte, 1<<20)
	for _, c := range []struct {
		name, body   string
		headerLength int64
	}{
		{"JSON16", jsonRequest(16, true), -1},
		{"JSON16digits17", jsonRequest(16, false), -1},
		{"JSON1M", jsonRequest(1<<18, true), -1},
		{"JSON1Mdigits17", jsonRequest(1<<18, false), -1},
		{"Binary1MiB", large + string(memory), int64(len(large))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			body := strings.NewReader(c.body)
			for b.Loop() {
				body.Reset(c.body)
				r, err := ReadRequest(body, int64(len(c.body)), c.headerLength, Limits{}, func(t *Tensor) error {
					t.Data = memory[:4*t.Shape[len(t.Shape)-1]]
					return nil
				})
				if err != nil || len(r.Inputs) != 1 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name   string
		count  int64
		binary bool
	}{{"JSON16", 16, false}, {"JSON1M", 1 << 18, false}, {"Binary1MiB", 1 << 18, true}} {
		b.Run(c.name, func(b *testing.B) {
			in, err := ReadRequest(strings.NewReader(jsonRequest(int(c.count), true)), -1, -1, Limits{}, nil)
			require.NoError(b, err)
			r := &Response{Model: "mlp", Version: "1", ID: "7", Outputs: []Tensor{{Name: "y", DType: dlpack.Float32,
				Shape: []int64{1, c.count}, Data: in.Inputs[0].Data}}}
			b.ReportAllocs()
			var size bytes.Buffer
			header := func(_, bodyBytes int64, _ bool) {}
			require.NoError(b, r.Write(&size, &Request{Binary: c.binary}, header))
			b.SetBytes(int64(size.Len()))
			q := &Request{Binary: c.binary}
			for b.Loop() {
				if err := r.Write(io.Discard, q, header); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
