package explain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The first cases are the examples of NVIDIA's guides: "CUDA C++ Best Practices Guide", Calculating Occupancy (37
// registers; 32 registers for full occupancy), and "CUDA C++ Programming Guide", Multiprocessor Level (64 registers,
// and one more, of 512 threads).
func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		sm                         int
		threads, registers, shared int64
		blocks                     int64
		percent                    float64
		by                         []string
	}{
		{70, 128, 37, 0, 12, 75, []string{"registers"}},
		{70, 320, 37, 0, 4, 62.5, []string{"registers"}},
		{70, 256, 32, 0, 8, 100, []string{"warps", "registers"}},
		{60, 512, 64, 0, 2, 50, []string{"registers"}},
		{60, 512, 65, 0, 1, 25, []string{"registers"}},
		{80, 256, 32, 0, 8, 100, []string{"warps", "registers"}},
		{80, 256, 255, 0, 1, 12.5, []string{"registers"}},
		{80, 256, 128, 0, 2, 25, []string{"registers"}},
		{80, 256, 0, 48 * kib, 3, 37.5, []string{"shared memory"}},
		{80, 128, 32, 163 * kib, 1, 6.25, []string{"shared memory"}},
		{90, 256, 0, 48 * kib, 4, 50, []string{"shared memory"}},
		{75, 256, 64, 0, 4, 100, []string{"warps", "registers"}},
		{75, 64, 16, 32 * kib, 2, 12.5, []string{"shared memory"}},
		{86, 512, 0, 0, 3, 100, []string{"warps"}},
		{86, 1024, 0, 0, 1, 200.0 / 3, []string{"warps"}},
		{89, 32, 0, 0, 24, 50, []string{"blocks"}},
		{90, 32, 0, 0, 32, 50, []string{"blocks"}},
		{100, 33, 0, 0, 32, 100, []string{"warps", "blocks"}},
		{120, 128, 0, 99 * kib, 1, 100.0 / 12, []string{"shared memory"}},
	} {
		o := occupancy(c.sm, c.threads, c.registers, c.shared)
		require.Equal(t, c.blocks, o.Blocks, "%+v", c)
		require.InDelta(t, c.percent, 100*o.Fraction, 1e-9, "%+v", c)
		require.Equal(t, c.by, o.LimitedBy, "%+v", c)
		require.Equal(t, c.registers > 0, o.Registers)
		require.Empty(t, o.Problem)
	}
	o := occupancy(75, 256, 0, 65*kib)
	require.Zero(t, o.Blocks)
	require.Equal(t, "no block fits into a multiprocessor: shared memory", o.Problem)
}

func TestSectors(t *testing.T) {
	request := func(n int, bytes int64, address func(i int64) int64) (all []piece) {
		for i := range n {
			all = append(all, piece{address(int64(i)), bytes})
		}
		return all
	}
	for _, c := range []struct {
		bytes            int64
		address          func(i int64) int64
		touched, minimal int64
	}{
		{4, func(i int64) int64 { return 4 * i }, 4, 4},
		{4, func(i int64) int64 { return 4*i + 4 }, 5, 4},
		{4, func(i int64) int64 { return 0 }, 1, 1},
		{4, func(i int64) int64 { return 8 * i }, 8, 4},
		{4, func(i int64) int64 { return 4096 * i }, 32, 4},
		{4, func(i int64) int64 { return 4 * (31 - i) }, 4, 4},
		{16, func(i int64) int64 { return 16 * i }, 16, 16},
		{2, func(i int64) int64 { return 2 * i }, 2, 2},
		{1, func(i int64) int64 { return i }, 1, 1},
		{8, func(i int64) int64 { return 8 * (i / 2) }, 4, 4},
	} {
		touched, minimal := sectors(request(32, c.bytes, c.address))
		require.Equal(t, []int64{c.touched, c.minimal}, []int64{touched, minimal})
	}
}

func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		name                  string
		bytes                 int64
		word                  func(i int64) int64 // in words of 4 bytes
		worst, passes, phases int64
	}{
		{"consecutive", 4, func(i int64) int64 { return i }, 1, 1, 1},
		{"broadcast", 4, func(i int64) int64 { return 7 }, 1, 1, 1},
		{"column of 32", 4, func(i int64) int64 { return 32 * i }, 32, 32, 1},
		{"column of 33", 4, func(i int64) int64 { return 33 * i }, 1, 1, 1},
		{"every other", 4, func(i int64) int64 { return 2 * i }, 2, 2, 1},
		{"two broadcasts in a bank", 4, func(i int64) int64 { return 32 * (i / 16) }, 2, 2, 1},
		{"vectors of 16 bytes", 16, func(i int64) int64 { return 4 * i }, 1, 4, 4},
		{"vectors of 16 bytes apart", 16, func(i int64) int64 { return 8 * i }, 2, 8, 4},
		{"vectors of 8 bytes", 8, func(i int64) int64 { return 2 * i }, 1, 2, 2},
		{"vectors of 8 bytes, column of 32", 8, func(i int64) int64 { return 32 * i }, 16, 32, 2},
	} {
		var request []piece
		for i := range int64(32) {
			request = append(request, piece{4 * c.word(i), c.bytes})
		}
		worst, passes, phases := conflicts(request)
		require.Equal(t, []int64{c.worst, c.passes, c.phases}, []int64{worst, passes, phases}, c.name)
	}
	bytes := make([]piece, 32)
	for i := range bytes {
		bytes[i] = piece{int64(i), 1} // four threads share a word
	}
	worst, _, _ := conflicts(bytes)
	require.Equal(t, int64(1), worst)
	for i := range bytes {
		bytes[i].bytes = btoi(i == 3) // one active thread
	}
	worst, _, phases := conflicts(bytes)
	require.Equal(t, []int64{1, 1}, []int64{worst, phases})
}

func TestSamples_StandForAll(t *testing.T) {
	for extent := range int64(40) {
		for n := 1; n <= 3; n++ {
			sum := 0.0
			for _, s := range samplesOf(extent, n) {
				require.Less(t, s.at, extent)
				sum += s.weight
			}
			require.Equal(t, float64(extent), sum)
		}
	}
}
