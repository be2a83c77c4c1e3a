package gpu

import (
	"fmt"
	"slices"

	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Matmul holds the parameters of products of matrices, and of other sums of products. A block computes BlockM × BlockN
// results, and a thread ThreadM × ThreadN of them in registers. Small results have smaller blocks, so that there are
// enough.
type Matmul struct {
	BlockM, BlockN   int
	ThreadM, ThreadN int
	VectorBytes      int // bytes that a thread loads or stores at once

	// With fewer blocks than Blocks, blocks become smaller, until they have MinBlock rows or columns. With Shared, sums of
	// at least 2·Part products are then divided, and a second kernel adds the parts.
	Blocks   int
	MinBlock int
	Part     int

	// Shared says that the operands of a block are in shared memory: BlockK products of each sum in a step. Between two
	// steps, the threads of a block wait for each other. With several Stages, shared memory has as many copies, and the
	// operands of a step are loaded during earlier steps.
	Shared bool
	BlockK int
	Stages int

	// Registers is the number of registers that a thread should need at most for results of 4 bytes: compilers keep to it
	// if their language has a way to say so, as CUDA C has. More blocks then run at once. 0: the compiler decides.
	Registers int

	// Without Shared, a block of a single thread copies the right operands of its columns into private memory if they
	// have at most PanelBytes. Several threads are the lanes of a vector, which share the rows of a block.
	PanelBytes int
}

func defaultMatmul(l Limits) Matmul {
	if l.OnCPU {
		m := Matmul{BlockM: 1 << 12, BlockN: 32, ThreadM: 8, ThreadN: 32, VectorBytes: 64, Blocks: 16, MinBlock: 64,
			Part: 1 << 20, BlockK: 1, Stages: 1, PanelBytes: 256 << 10}
		if lanes := l.cpuLanes(); lanes > 1 {
			m.BlockM, m.BlockN, m.ThreadN, m.VectorBytes, m.MinBlock = 8, 8*lanes, 8, 8, 8
			if l.Shuffles {
				m.BlockK = powerBelow(l.Warp)
			}
		}
		return m
	}
	m := Matmul{BlockM: 128, BlockN: 128, ThreadM: 8, ThreadN: 8, VectorBytes: 16, Blocks: 256, MinBlock: 32, Part: 512,
		Shared: true, BlockK: 16, Stages: 2, Registers: 128}
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

// cpuLanes is the number of threads of a block that a driver on a CPU runs as the lanes of one vector; 1 if kernels
// have long vectors of their own.
func (l Limits) cpuLanes() int {
	const unknown = 8 // of 4 bytes, in vectors of 32 bytes
	switch {
	case l.Lanes > 4:
		return 1
	case l.Warp == 1:
		return min(unknown, powerBelow(l.Threads))
	}
	return powerBelow(min(l.Warp, l.Threads))
}

// threads is the number of threads of a block.
func (m *Matmul) threads() int {
	if !m.Shared {
		return m.BlockN / m.ThreadN
	}
	return (m.BlockM / m.ThreadM) * (m.BlockN / m.ThreadN)
}

// rowPad is the number of elements after each row of a shared tile, so that the threads of a warp that store elements
// of a column use different memory banks. Vectors stay aligned.
const rowPad = 4

// bytes is the size of the shared memory of a block, for elements of a size.
func (m *Matmul) bytes(element int) int {
	return m.Stages * m.BlockK * (m.BlockM + m.BlockN + 2*(rowPad+32)) * element
}

func (m *Matmul) check(l Limits) error {
	const registers, threads = "results are in registers", "the target's max_threads_per_block"
	for _, err := range []error{
		powerOfTwo("BlockM", m.BlockM, 1, 1<<20, "an index has 32 bits"),
		powerOfTwo("BlockN", m.BlockN, 1, 1<<10, "shared memory"),
		powerOfTwo("ThreadM", m.ThreadM, 1, min(m.BlockM, 1<<5), registers),
		powerOfTwo("ThreadN", m.ThreadN, 1, min(m.BlockN, 1<<6), registers),
		powerOfTwo("VectorBytes", m.VectorBytes, 1, 128, "16 values of 8 bytes"),
		between("Blocks", m.Blocks, 1, 1<<31-1, "a grid has no more"),
		powerOfTwo("MinBlock", m.MinBlock, 1, 1<<20, "an index has 32 bits"),
		between("Part", m.Part, 1, 1<<30, "an index has 32 bits"),
		powerOfTwo("BlockK", m.BlockK, 1, 1<<7, "shared memory"),
		between("Stages", m.Stages, 1, 16, "shared memory"),
		between("Registers", m.Registers, 0, 255, "a GPU's thread has no more"),
		between("PanelBytes", m.PanelBytes, 0, 1<<20, "memory of a thread"),
	} {
		if err != nil {
			return err
		}
	}
	if n := m.threads(); n > l.Threads {
		return fmt.Errorf("BlockN is %d: with ThreadN %d, BlockM %d and ThreadM %d, a block has %d threads: want at most "+
			"%d (%s)", m.BlockN, m.ThreadN, m.BlockM, m.ThreadM, n, l.Threads, threads)
	}
	if !m.Shared && m.BlockK > 1 && (!l.Shuffles || m.BlockK != m.threads() || m.BlockK > l.Warp) {
		return fmt.Errorf("BlockK is %d: without Shared, want 1, or the %d threads of a block if they are a warp that can "+
			"exchange values (the target's thread_warp_size)", m.BlockK, m.threads())
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
	if !m.Shared {
		p, ok := m.panels(c, l)
		if ok {
			p.schedule(g)
		}
		return ok
	}
	t, ok := m.tile(c, l)
	if ok {
		newGEMM(c, t, l).schedule(g, func() { e.group(g, l) })
	}
	return ok
}

// sizes are the numbers of rows, columns, products of a sum and batches; false if there are less than two rows or
// columns, or nothing to compute. Sizes that are not constant count as large ones.
func (c *contraction) sizes() (rows, cols, depth, batch int64, ok bool) {
	rows, cols, depth = constantSize(fusedSize(c.m)), constantSize(fusedSize(c.n)), constantSize(fusedSize(c.k))
	batch = constantSize(fusedSize(c.batch))
	return rows, cols, depth, batch, rows > 1 && cols > 1 && depth > 0 && batch > 0
}

// panels chooses the tiles of a contraction without shared memory.
func (m *Matmul) panels(c *contraction, l Limits) (*panels, bool) {
	rows, cols, depth, batch, ok := c.sizes()
	if !ok {
		return nil, false
	}
	p := &panels{contraction: c, l: l, rows: min(m.ThreadM, int(powerAbove(rows))), depth: 1}
	element := typeBytes(c.left.DType())
	threads := min(m.threads(), int(powerAbove(cols)))
	p.cols = side{block: threads * min(m.ThreadN, int(powerAbove((cols+int64(threads)-1)/int64(threads)))), warps: 1,
		lanes: threads}
	p.cols.run = min(max(1, m.VectorBytes/element), p.cols.block/threads, maxLanes)
	_, known := tir.IntValue(fusedSize(c.k))
	p.private = threads == 1 && known && times(depth, int64(p.cols.block*element)) <= int64(m.PanelBytes)
	block := int64(m.BlockM)
	for block > int64(max(p.rows, m.MinBlock)) &&
		times(batch, times((rows-1)/block+1, (cols-1)/int64(p.cols.block)+1)) < int64(m.Blocks) {
		block /= 2
	}
	p.tiles = max(1, int(block)/p.rows)
	if m.BlockK > 1 && m.BlockK == threads && known && depth%int64(threads) == 0 &&
		cols >= int64(threads*p.cols.run) { // each thread has columns
		p.depth = threads
	}
	return p, true
}

// tile chooses the tiles of a contraction in shared memory; false if shared memory does not suffice.
func (m *Matmul) tile(c *contraction, l Limits) (t tiling, ok bool) {
	rows, cols, depth, batch, ok := c.sizes()
	if !ok {
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
	for c.fetched(&now, element) > l.Shared {
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
	t.resident = now.resident(element, l)
	if b := blocks(); 2*b <= int64(m.Blocks) && depth >= 2*int64(m.Part) {
		t.parts = int(min((int64(m.Blocks)-1)/b+1, depth/int64(m.Part), 1<<10))
	}
	return t, true
}

// resident is the number of blocks that a multiprocessor can run at once if threads use no more than Registers; 0 if
// the compiler need not know it. element is the number of bytes of an operand, and of a result.
func (m *Matmul) resident(element int, l Limits) int {
	const registers = 1 << 16                                    // of 4 bytes, of a multiprocessor of any GPU since 2012
	if m.Registers == 0 || 2*m.ThreadM*m.ThreadN < m.Registers { // threads with few results need fewer anyway
		return 0
	}
	n := min(registers/(m.threads()*m.Registers*max(1, element/4)), l.Resident/m.bytes(element), 4)
	if n < 2 {
		return 0
	}
	return n
}

// fetched is an upper bound of the bytes of shared memory of a block. If blocks do not divide a group of a divided
// axis, a block fetches two groups, and both as a whole: which part of them it needs depends on the block.
func (c *contraction) fetched(m *Matmul, element int) int {
	if c.divided == nil {
		return m.bytes(element)
	}
	wide := *m
	block := &wide.BlockN
	if slices.Contains(c.m, c.divided.inner) {
		block = &wide.BlockM
	}
	size := constantSize(c.divided.inner.Extent)
	if size%int64(*block) == 0 {
		return m.bytes(element)
	}
	*block = 2 * max(*block, int(size))
	return max(2*m.bytes(element), wide.bytes(element)*5/4) // a quarter for the gaps between rows
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
