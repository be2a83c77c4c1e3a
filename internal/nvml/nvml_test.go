package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/dl"
	"tvmgo/internal/testing/fakenvml"
	"tvmgo/internal/testing/must"
)

func number(v float64) *float64 { return &v }

// opened opens a fake library.
func opened(t *testing.T, flags ...string) *Library {
	t.Helper()
	t.Setenv(Variable, fakenvml.Build(t, flags...))
	l := must.Get(Open())(t)
	t.Cleanup(func() {
		t.Setenv("FAKENVML_FAIL_AT", "")
		require.NoError(t, l.Close())
	})
	return l
}

// A GPU is found by its PCI address, or else by its UUID, and never by its position.
func TestRead(t *testing.T) {
	for _, flags := range [][]string{nil, {"-DOLD"}} {
		l := opened(t, flags...)
		require.Equal(t, "550.54.14", must.Get(l.DriverVersion())(t))
		first := State{ClockMHz: number(345), MemoryClockMHz: number(2619), Celsius: number(33), Watts: number(75.125)}
		second := State{ClockMHz: number(1980), MemoryClockMHz: number(3201), Celsius: number(61), Watts: number(350.25)}
		for _, c := range []struct {
			pci, uuid string
			want      State
		}{
			{"0000:19:00.0", "", first},
			{"0000:29:00.0", "", second},
			{"", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01", second},
			{"0000:99:00.0", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00", first},
		} {
			g := must.Get(l.Find(c.pci, c.uuid))(t)
			require.Equal(t, c.want, must.Get(g.Read())(t))
		}
		require.ErrorContains(t, must.Fail(l.Find("0000:99:00.0", "GPU-0")), "find GPU 0000:99:00.0 GPU-0: Not Found (6)")
		require.ErrorContains(t, must.Fail(l.Find("", "")), "(6)")

		t.Setenv("FAKENVML_REASONS", "0x1") // idle
		g := must.Get(l.Find("0000:19:00.0", ""))(t)
		require.Empty(t, must.Get(g.Read())(t).Throttled)
		t.Setenv("FAKENVML_REASONS", "0x1045")
		require.Equal(t, []string{"SW Power Cap", "HW Thermal Slowdown", "reason 0x1000"},
			must.Get(g.Read())(t).Throttled)
		t.Setenv("FAKENVML_REASONS", "0x1fe")
		require.Equal(t, words[1:], must.Get(g.Read())(t).Throttled)
		t.Setenv("FAKENVML_REASONS", "")
	}
}

// A value that the GPU does not support is nil; the others are there.
func TestRead_NotSupported(t *testing.T) {
	g := must.Get(opened(t).Find("0000:19:00.0", ""))(t)
	for _, value := range []string{"clock", "memory", "temperature", "power", "reasons"} {
		t.Setenv("FAKENVML_REASONS", "4")
		t.Setenv("FAKENVML_LACKS", value)
		s := must.Get(g.Read())(t)
		require.Equal(t, value == "clock", s.ClockMHz == nil)
		require.Equal(t, value == "memory", s.MemoryClockMHz == nil)
		require.Equal(t, value == "temperature", s.Celsius == nil)
		require.Equal(t, value == "power", s.Watts == nil)
		require.Equal(t, value == "reasons", s.Throttled == nil)
	}
}

// The k-th call fails, for every k and for several codes: no call crashes, and a value of a failed call is nil.
func TestRead_EveryCallFails(t *testing.T) {
	l := opened(t)
	g := must.Get(l.Find("0000:19:00.0", ""))(t)
	for _, code := range []int{2, 3, 4, 6, 10, 13, 15, 16, 999} {
		for k := 1; k <= 5; k++ {
			t.Setenv("FAKENVML_FAIL_AT", fmt.Sprintf("%d,%d", k, code))
			s, err := g.Read()
			if code == gpuIsLost || code == resetRequired {
				require.ErrorIs(t, err, ErrLost)
				require.Equal(t, State{}, s)
				continue
			}
			require.NoError(t, err)
			for i, v := range []*float64{s.ClockMHz, s.MemoryClockMHz, s.Celsius, s.Watts} {
				require.Equal(t, i+1 == k, v == nil, "call %d, value %d", k, i)
			}
		}
	}
	t.Setenv("FAKENVML_FAIL_AT", "1,15")
	for range 2 {
		require.ErrorContains(t, must.Fail(g.Read()), "the GPU is lost: nvmlDeviceGetClockInfo: GPU is lost (15)")
	}
	require.ErrorIs(t, must.Fail(l.Find("0000:19:00.0", "")), ErrLost)
	require.ErrorIs(t, must.Fail(l.DriverVersion()), ErrLost)
}

func TestOpen_Fails(t *testing.T) {
	var missing *dl.MissingError
	t.Setenv(Variable, "/no/such/library.so")
	err := must.Fail(Open())
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "/no/such/library.so")
	require.ErrorContains(t, err, Variable)

	t.Setenv(Variable, fakenvml.Build(t, "-DWITHOUT_UUID"))
	err = must.Fail(Open())
	require.True(t, errors.As(err, &missing))
	require.ErrorContains(t, err, "has no function nvmlDeviceGetHandleByUUID")

	t.Setenv(Variable, fakenvml.Build(t, "-DWITHOUT_TEXT"))
	t.Setenv("FAKENVML_FAIL_AT", "1,9") // the driver is not loaded
	require.ErrorContains(t, must.Fail(Open()), "nvmlInit_v2:  (9)")
}

func TestClose(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("FAKENVML_LOG", log)
	l := opened(t)
	g := must.Get(l.Find("0000:19:00.0", ""))(t)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50 {
				if _, err := g.Read(); err != nil && err != ErrClosed {
					panic(err)
				}
			}
		})
	}
	require.NoError(t, l.Close())
	readers.Wait()
	require.NoError(t, l.Close())
	require.ErrorIs(t, must.Fail(g.Read()), ErrClosed)
	require.ErrorIs(t, must.Fail(l.Find("0000:19:00.0", "")), ErrClosed)
	require.ErrorIs(t, must.Fail(l.DriverVersion()), ErrClosed)
	text := string(must.Get(os.ReadFile(log))(t))
	require.True(t, strings.HasPrefix(text, "init\npci\n"))
	require.Equal(t, 1, strings.Count(text, "shutdown"))
	for line := range strings.Lines(text) { // nothing else: no setting is changed
		require.Contains(t, []string{"init", "pci", "clock", "memory", "temperature", "power", "reasons", "shutdown"},
			strings.TrimSpace(line))
	}
}
