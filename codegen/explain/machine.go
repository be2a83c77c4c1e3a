package explain

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/target"
)

// multiprocessor has the limits of a multiprocessor (table "Technical Specifications per Compute Capability" of the
// CUDA programming guide) and the units in which resources are allocated (NVIDIA's occupancy calculator). Registers are
// allocated to warps in units of 256; each of the partitions has an equal part of them. Sizes are in bytes.
type multiprocessor struct {
	warps, blocks int64
	registers     int64 // 32-bit registers of a multiprocessor; a block can have as many
	shared        int64 // of all blocks together
	reserved      int64 // shared memory that the system takes of each block
	sharedUnit    int64
	partitions    int64
}

const (
	registerUnit          = 256
	maxRegistersPerThread = 255
	warpThreads           = 32
	kib                   = 1024
)

// multiprocessors by compute capability: sm_86 is 86.
var multiprocessors = map[int]multiprocessor{
	60:  {64, 32, 65536, 64 * kib, 0, 256, 2},
	61:  {64, 32, 65536, 96 * kib, 0, 256, 4},
	70:  {64, 32, 65536, 96 * kib, 0, 256, 4},
	72:  {64, 32, 65536, 96 * kib, 0, 256, 4},
	75:  {32, 16, 65536, 64 * kib, 0, 256, 4},
	80:  {64, 32, 65536, 164 * kib, kib, 128, 4},
	86:  {48, 16, 65536, 100 * kib, kib, 128, 4},
	87:  {48, 16, 65536, 164 * kib, kib, 128, 4},
	89:  {48, 24, 65536, 100 * kib, kib, 128, 4},
	90:  {64, 32, 65536, 228 * kib, kib, 128, 4},
	100: {64, 32, 65536, 228 * kib, kib, 128, 4},
	101: {48, 24, 65536, 228 * kib, kib, 128, 4},
	103: {64, 32, 65536, 228 * kib, kib, 128, 4},
	110: {48, 24, 65536, 228 * kib, kib, 128, 4},
	120: {48, 24, 65536, 100 * kib, kib, 128, 4},
	121: {48, 24, 65536, 100 * kib, kib, 128, 4},
}

// peak has the published peak figures of a GPU: multiprocessors, bytes/s of its memory, and operations/s, where a fused
// multiplication and addition are two.
type peak struct {
	name             string
	sms              int64
	memory           float64
	float32, float64 float64
	tensor16         float64 // of float16 and bfloat16 with accumulation in float32, without sparsity; 0: none
}

const (
	giga = 1e9
	tera = 1e12
)

// peaks has a GPU for each compute capability: the largest one for servers, where there are several.
var peaks = map[int]peak{
	60:  {"Tesla P100 SXM2", 56, 732 * giga, 10.6 * tera, 5.3 * tera, 0},
	61:  {"Tesla P40", 30, 346 * giga, 11.8 * tera, 0.37 * tera, 0},
	70:  {"Tesla V100 SXM2", 80, 900 * giga, 15.7 * tera, 7.8 * tera, 125 * tera},
	75:  {"T4", 40, 320 * giga, 8.1 * tera, 0.25 * tera, 65 * tera},
	80:  {"A100 SXM 40 GB", 108, 1555 * giga, 19.5 * tera, 9.7 * tera, 312 * tera},
	86:  {"A40", 84, 696 * giga, 37.4 * tera, 0.58 * tera, 149.7 * tera},
	89:  {"L40", 142, 864 * giga, 90.5 * tera, 1.41 * tera, 181 * tera},
	90:  {"H100 SXM", 132, 3350 * giga, 66.9 * tera, 33.5 * tera, 989 * tera},
	100: {"B200", 148, 8000 * giga, 80 * tera, 40 * tera, 2250 * tera},
	120: {"GeForce RTX 5090", 170, 1792 * giga, 104.8 * tera, 1.64 * tera, 209.5 * tera},
}

// capability returns the compute capability of a target; 0 if it has none.
func capability(t *target.Target) int {
	for _, name := range []string{"arch", "mcpu"} {
		if arch, err := target.Get[string](t, name); err == nil {
			if number, found := strings.CutPrefix(arch, "sm_"); found {
				n, _ := strconv.Atoi(strings.TrimRight(number, "af"))
				return n
			}
		}
	}
	return 0
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, unit int64) int64 { return ceilDiv(a, unit) * unit }

// occupancy returns how many blocks of a size fit into a multiprocessor of a known compute capability. Registers are of
// a thread, 0 if unknown; shared memory is of a block.
func occupancy(sm int, threads, registers, shared int64) *Occupancy {
	m := multiprocessors[sm]
	warps := ceilDiv(threads, warpThreads)
	o := &Occupancy{MaxWarps: m.warps, Registers: registers > 0}
	limits := []struct {
		name   string
		blocks int64
	}{{"warps", m.warps / warps}, {"blocks", m.blocks}}
	if registers > 0 {
		byWarp := roundUp(registers*warpThreads, registerUnit)
		perPartition := m.registers / m.partitions / byWarp
		blocks := perPartition * m.partitions / warps
		// a launch is checked as if each of 4 partitions, also of sm_60, had an equal number of the block's warps
		if registers > maxRegistersPerThread || byWarp*roundUp(warps, 4) > m.registers {
			blocks = 0
		}
		limits = append(limits, struct {
			name   string
			blocks int64
		}{"registers", blocks})
	}
	if need := shared + m.reserved; need > 0 {
		blocks := m.shared / roundUp(need, m.sharedUnit)
		if shared > target.SharedPerBlock(sm) {
			blocks = 0
		}
		limits = append(limits, struct {
			name   string
			blocks int64
		}{"shared memory", blocks})
	}
	o.Blocks = int64(math.MaxInt64)
	for _, l := range limits {
		o.Blocks = min(o.Blocks, l.blocks)
	}
	for _, l := range limits {
		if l.blocks == o.Blocks {
			o.LimitedBy = append(o.LimitedBy, l.name)
		}
	}
	if o.Blocks == 0 {
		o.Problem = "no block fits into a multiprocessor: " + strings.Join(o.LimitedBy, ", ")
	}
	o.Warps = o.Blocks * warps
	o.Fraction = float64(o.Warps) / float64(m.warps)
	return o
}

// Capabilities lists the compute capabilities of which the package has tables, as 90 for sm_90, ascending.
func Capabilities() []int { return slices.Sorted(maps.Keys(multiprocessors)) }
