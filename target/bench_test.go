package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

const benchConfig = `{"kind":"cuda","arch":"sm_90a","libs":["cudnn","cublas"],"max_num_threads":1024,` +
	`"host":{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"neoverse-v2","mattr":["+sve2"],"num-cores":72}}`

func BenchmarkNew_JSON(b *testing.B) {
	b.ReportAllocs()
	text := []byte(benchConfig)
	for b.Loop() {
		if _, err := target.New(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew_CLI(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := target.New("cuda -arch=sm_90a -libs=cudnn,cublas -host='llvm -mtriple=aarch64-linux-gnu " +
			"-mcpu=neoverse-v2'"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew_Tag(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := target.New("nvidia/h100"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	b.ReportAllocs()
	x, err := target.New(benchConfig)
	require.NoError(b, err)
	for b.Loop() {
		if n, err := target.Get[int](x, "max_num_threads"); err != nil || n != 1024 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkSchema(b *testing.B) {
	for b.Loop() {
		if _, err := target.Schema("cuda"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGet_NoAllocation checks that reading scalars does not allocate.
func TestGet_NoAllocation(t *testing.T) {
	x := must.Get(target.New(benchConfig))(t)
	check := func(get func() error) {
		t.Helper()
		require.NoError(t, get())
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = get() }))
	}
	check(func() error { return errorOf(target.Get[int](x, "max_num_threads")) })
	check(func() error { return errorOf(target.Get[int64](x, "thread_warp_size")) })
	check(func() error { return errorOf(target.Get[string](x, "arch")) })
	check(func() error { return errorOf(target.Get[*target.Target](x, "host")) })
	check(func() error { return errorOf(target.Get[string](x.Host(), "mcpu")) })
	require.Positive(t, testing.AllocsPerRun(100, func() { _, _ = target.Get[[]string](x, "libs") })) // a copy
}
