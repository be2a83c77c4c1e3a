package tagdata

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const firstUse = "TAGDATA_FIRST_USE" // in the environment of a process that only measures its first use

func TestMain(m *testing.M) {
	if os.Getenv(firstUse) != "" {
		start := time.Now()
		_, ok := Find("nvidia/h100")
		taken := time.Since(start)
		if !ok {
			os.Exit(1)
		}
		os.Stdout.WriteString(taken.String())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// BenchmarkFirstUse is of fresh processes; first-use-ns is what Find takes there, ns/op that and the start of a
// process.
func BenchmarkFirstUse(b *testing.B) {
	self, err := os.Executable()
	require.NoError(b, err)
	var sum time.Duration
	for b.Loop() {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), firstUse+"=1")
		out, err := cmd.Output()
		require.NoError(b, err)
		taken, err := time.ParseDuration(string(out))
		require.NoError(b, err)
		sum += taken
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N), "first-use-ns")
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := load(files)
		require.NoError(b, err)
	}
}

func BenchmarkFind(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, ok := Find("nvidia/jetson-agx-thor")
		require.True(b, ok)
	}
}
