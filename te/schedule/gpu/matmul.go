package gpu

import (
	"fmt"

	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Matmul holds the parameters of products of matrices, and of other sums of products. A block computes BlockM × BlockN
// results from operands in shared memory; small results have smaller blocks, so that there are enough.
type Matmul struct {
	BlockM, BlockN   int // results of a block
	BlockK           int // products of each sum in a step: between two, the threads of a block wait for each other
	ThreadM, ThreadN int // results of a thread, in registers
	VectorBytes      int // bytes that a thread loads or stores at once
	Stages           int // copies of the shared memory: with several, a step's operands are loaded during earlier ones

	// With fewer blocks than Blocks, blocks become smaller, to MinBlock × MinBlock results; then sums of at least
	// 2·Part products are divided, and a second kernel adds the parts.
	Blocks   int
	MinBlock int
	Part     int
}

func defaultMatmul(l Limits) Matmul {
	m := Matmul{BlockM: 128, BlockN: 128, BlockK: 16, ThreadM: 8, ThreadN: 8, VectorBytes: 16, Stages: 2, Blocks: 256,
		MinBlock: 32, Part: 512}
	for m.threads() > l.Threads && m.BlockM > 1 {
		m.BlockM, m.BlockN = m.BlockN/2, m.BlockM
		m.ThreadM, m.ThreadN = min(m.ThreadM, m.BlockM), min(m.ThreadN, m.BlockN)
	}
	for m.bytes(4) > l.Shared && m.BlockK > 8 {
		m.BlockK /= 2
	}
	if m.bytes(4) > l.Shared {
		m.Stages = 1
	}
	m.MinBlock = min(m.MinBlock, m.BlockM, m.BlockN)
	return m
}

// threads is the number of threads of a block.
func (m *Matmul) threads() int { return (m.BlockM / m.ThreadM) * (m.BlockN / m.ThreadN) }

// rowPad is the number of elements after each row of a shared tile, so that the threads of a warp that store elements
// of a column use different memory banks. Vectors stay aligned.
const rowPad = 4

// bytes is the size of the shared memory of a block, for elements of a size.
func (m *Matmul) bytes(element int) int {
	return m.Stages * m.BlockK * (m.BlockM + m.BlockN + 2*(rowPad+32)) * element
}

func (m *Matmul) check(l Limits) error {
	const registers = "results are in registers"
	for _, err := range []error{
		powerOfTwo("BlockM", m.BlockM, 1, 1<<10, "shared memory"),
		powerOfTwo("BlockN", m.BlockN, 1, 1<<10, "shared memory"),
		powerOfTwo("BlockK", m.BlockK, 1, 1<<7, "shared memory"),
		powerOfTwo("ThreadM", m.ThreadM, 1, min(m.BlockM, 1<<5), registers),
		powerOfTwo("ThreadN", m.ThreadN, 1, min(m.BlockN, 1<<5), registers),
		powerOfTwo("VectorBytes", m.VectorBytes, 1, 128, "16 values of 8 bytes"),
		between("Stages", m.Stages, 1, 16, "shared memory"),
		between("Blocks", m.Blocks, 1, 1<<31-1, "a grid has no more"),
		powerOfTwo("MinBlock", m.MinBlock, 1, 1<<10, "shared memory"),
		between("Part", m.Part, 1, 1<<30, "an index has 32 bits"),
	} {
		if err != nil {
			return err
		}
	}
	if n := m.threads(); n > l.Threads {
		return fmt.Errorf("BlockM is %d: with ThreadM %d, BlockN %d and ThreadN %d, a block has %d threads: want at most "+
			"%d (the target's max_threads_per_block)", m.BlockM, m.ThreadM, m.BlockN, m.ThreadN, n, l.Threads)
	}
	return nil
}

// group schedules a group whose result is a sum of products; false if it is something else, or too small. The sums of
// parts are elementwise kernels.
func (m *Matmul) group(g *schedule.Group, e *Elementwise, l Limits) bool {
	c := contractionOf(g.Schedule, g.Result)
	if c == nil || len(g.Parts()) > 0 || len(c.m) != 1 || len(c.n) != 1 {
		return false
	}
	t, ok := m.tile(c, l)
	if !ok {
		return false
	}
	newGEMM(c, t, l).schedule(g, func() { e.group(g, l) })
	return true
}

// tile chooses the tiles of a contraction; false if it has less than two rows or columns, or no products.
func (m *Matmul) tile(c *contraction, l Limits) (t tiling, ok bool) {
	rows, cols, depth := constantSize(fusedSize(c.m)), constantSize(fusedSize(c.n)), constantSize(fusedSize(c.k))
	batch := constantSize(fusedSize(c.batch))
	if rows < 2 || cols < 2 || depth < 1 || batch < 1 {
		return t, false
	}
	now := *m
	now.BlockM, now.BlockN = int(min(int64(m.BlockM), powerAbove(rows))), int(min(int64(m.BlockN), powerAbove(cols)))
	now.BlockK = int(min(int64(m.BlockK), powerAbove(depth)))
	blocks := func() int64 {
		return times(batch, times((rows-1)/int64(now.BlockM)+1, (cols-1)/int64(now.BlockN)+1))
	}
	for blocks() < int64(m.Blocks) && max(now.BlockM, now.BlockN) > m.MinBlock {
		now.halve()
	}
	element := typeBytes(c.left.DType())
	if steps := (depth-1)/int64(now.BlockK) + 1; steps < 2 {
		now.Stages = 1
	}
	for now.bytes(element) > l.Shared {
		switch {
		case now.BlockK > 8:
			now.BlockK /= 2
		case now.Stages > 1:
			now.Stages--
		case max(now.BlockM, now.BlockN) > 1:
			now.halve()
		case now.BlockK > 1:
			now.BlockK /= 2
		default:
			return t, false
		}
	}
	now.spread(min(l.Threads, 128))
	t = tiling{depth: now.BlockK, stages: now.Stages, parts: 1, bytes: m.VectorBytes}
	run := max(1, m.VectorBytes/element)
	t.rows = side{block: now.BlockM, run: min(now.ThreadM, run)}
	t.cols = side{block: now.BlockN, run: min(now.ThreadN, run)}
	t.warp(now.BlockM/now.ThreadM, now.BlockN/now.ThreadN, max(32, l.Warp))
	if b := blocks(); 2*b <= int64(m.Blocks) && depth >= 2*int64(m.Part) {
		t.parts = int(min((int64(m.Blocks)-1)/b+1, depth/int64(m.Part), 1<<10))
	}
	return t, true
}

// halve halves the longer side of a block.
func (m *Matmul) halve() {
	if m.BlockM >= m.BlockN {
		m.BlockM /= 2
	} else {
		m.BlockN /= 2
	}
}

// spread makes the results of a thread fewer until a block has enough threads.
func (m *Matmul) spread(threads int) {
	m.ThreadM, m.ThreadN = min(m.ThreadM, m.BlockM), min(m.ThreadN, m.BlockN)
	for 2*m.threads() <= threads && m.ThreadM*m.ThreadN > 1 {
		if m.ThreadM >= m.ThreadN {
			m.ThreadM /= 2
		} else {
			m.ThreadN /= 2
		}
	}
}

// warp distributes threads in rows and columns over warps, whose shape is nearly a square.
func (t *tiling) warp(rows, cols, threads int) {
	t.cols.lanes = min(8, cols)
	t.rows.lanes = min(max(1, threads/t.cols.lanes), rows)
	t.cols.lanes = min(max(1, threads/t.rows.lanes), cols)
	t.rows.warps, t.cols.warps = rows/t.rows.lanes, cols/t.cols.lanes
}

// times multiplies sizes, saturating at 62 bits.
func times(a, b int64) int64 {
	if a > 0 && b > (1<<62)/a {
		return 1 << 62
	}
	return a * b
}

// typeBytes is the size of an element in memory.
func typeBytes(t tir.Type) int { return (int(t.Bits) + 7) / 8 }
