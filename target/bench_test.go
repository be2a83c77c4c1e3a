package target_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		if _, err := target.New("cuda -arch=sm_90a -libs=cudnn,cublas -host='llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2'"); err != nil {
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

// BenchmarkFirstUse is the time of the first target of a process, of a kind and of a tag: everything that is made once.
func BenchmarkFirstUse(b *testing.B) {
	var total time.Duration
	for b.Loop() {
		c := exec.Command(os.Args[0], "-test.run=^TestFirstUseChild$", "-test.v")
		c.Env = append(os.Environ(), "TVMGO_TEST_FIRST_USE=1")
		out, err := c.CombinedOutput()
		require.NoError(b, err, "%s", out)
		_, after, ok := strings.Cut(string(out), "first use: ")
		require.True(b, ok, "%s", out)
		n, err := strconv.Atoi(strings.Fields(after)[0])
		require.NoError(b, err)
		total += time.Duration(n)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "first-use-µs")
	b.ReportMetric(0, "ns/op")
}

// TestFirstUseChild is the other process of BenchmarkFirstUse.
func TestFirstUseChild(t *testing.T) {
	if os.Getenv("TVMGO_TEST_FIRST_USE") == "" {
		t.Skip("BenchmarkFirstUse runs it, in a process of its own")
	}
	start := time.Now()
	_, err := target.New("cuda -arch=sm_90")
	_, err2 := target.New("nvidia/h100")
	d := time.Since(start)
	require.NoError(t, err)
	require.NoError(t, err2)
	fmt.Printf("first use: %d ns\n", d.Nanoseconds())
}

// TestGet_NoAllocation has scalars cost none.
func TestGet_NoAllocation(t *testing.T) {
	x, err := target.New(benchConfig)
	require.NoError(t, err)
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
