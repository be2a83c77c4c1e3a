package gpu

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// TensorCore holds the parameters of products of matrices that warps compute by fragments ([Limits.Fragments]): on
// tensor cores, or by cooperative matrices. A block computes BlockM × BlockN results from operands in shared memory,
// and each of its warps WarpM × WarpN of them; small results have smaller blocks.
type TensorCore struct {
	On             bool // sums of float16, bfloat16, int8 and uint8 in float32 and int32 use fragments
	TF32           bool // products of float32 use fragments, too, and round their operands to TensorFloat-32
	BlockM, BlockN int  // results of a block
	WarpM, WarpN   int  // results of a warp, in registers
	BlockBytes     int  // bytes of an operand along the sum in a step: between two, the threads of a block wait
	Stages         int  // copies of the shared memory: with several, a step's operands are loaded during earlier ones
	VectorBytes    int  // bytes that a thread loads or stores at once
	SharedBytes    int  // bytes of shared memory of a block at most: with more, it has fewer stages, or becomes smaller
	Warps          int  // warps of a block at least, which hide each other's latencies: with fewer, each computes less

	// Threads that fetch an operand in no whole vectors (the windows of a convolution; rows of unknown length, or of no
	// multiple of VectorBytes) need more registers and time to find where its elements are, and wait for more loads.
	NarrowWarps int // warps of a block at least
	NarrowBytes int // bytes of shared memory of a block: with more, it has fewer stages, but at least 2

	// With fewer blocks than Blocks, blocks become smaller, to MinBlock × MinBlock results. Sums of at least 2·Part
	// products are divided instead once blocks have MinDivided × MinDivided results; a second kernel adds the parts.
	Blocks     int
	MinBlock   int
	MinDivided int
	Part       int
	// MinSize is the least number of rows, columns and products of each sum for which fragments are used.
	MinSize int
}

func defaultTensorCore(l Limits) TensorCore {
	c := TensorCore{On: len(l.Fragments) > 0, BlockM: 128, BlockN: 128, WarpM: 64, WarpN: 64, BlockBytes: 64,
		Stages: 2, Warps: 4, NarrowWarps: 8, SharedBytes: l.Shared, VectorBytes: 16, Blocks: 128, MinBlock: 32,
		MinDivided: 64, Part: 512, MinSize: 16}
	if l.AsyncCopies {
		c.Stages = 4
	}
	const reserved = 1 << 10 // that the system takes of each block
	if half := l.Dynamic/2 - reserved; half > c.SharedBytes {
		c.SharedBytes = half // of two blocks, one computes while the other one waits
	}
	c.NarrowBytes = min(c.SharedBytes, max(0, l.Dynamic/4-reserved))
	for c.threads(l) > l.Threads && c.BlockM*c.BlockN > 32*32 {
		c.halve()
	}
	return c
}

// threads is the number of threads of a block.
func (c *TensorCore) threads(l Limits) int {
	return max(1, c.BlockM/c.WarpM) * max(1, c.BlockN/c.WarpN) * max(1, l.Warp)
}

// halve halves the longer side of a block, and the side of a warp if it is longer.
func (c *TensorCore) halve() {
	if c.BlockM > c.BlockN || c.BlockM == c.BlockN && c.BlockN == c.WarpN {
		c.BlockM /= 2
	} else {
		c.BlockN /= 2
	}
	c.WarpM, c.WarpN = min(c.WarpM, c.BlockM), min(c.WarpN, c.BlockN)
}

func (c *TensorCore) check(l Limits) error {
	for _, err := range []error{
		powerOfTwo("BlockM", c.BlockM, 16, 1<<9, "shared memory"),
		powerOfTwo("BlockN", c.BlockN, 16, 1<<9, "shared memory"),
		powerOfTwo("WarpM", c.WarpM, 16, c.BlockM, "BlockM"),
		powerOfTwo("WarpN", c.WarpN, 16, c.BlockN, "BlockN"),
		powerOfTwo("BlockBytes", c.BlockBytes, 32, 1<<8, "shared memory"),
		between("Stages", c.Stages, 1, 16, "shared memory"),
		powerOfTwo("VectorBytes", c.VectorBytes, 1, 128, "16 values of 8 bytes"),
		between("SharedBytes", c.SharedBytes, 0, l.Dynamic, "the target's max_shared_memory_per_block"),
		between("Warps", c.Warps, 1, 32, "a block has no more"),
		between("NarrowWarps", c.NarrowWarps, 1, 32, "a block has no more"),
		between("NarrowBytes", c.NarrowBytes, 0, l.Dynamic, "the target's max_shared_memory_per_block"),
		between("Blocks", c.Blocks, 1, 1<<31-1, "a grid has no more"),
		powerOfTwo("MinBlock", c.MinBlock, 16, 1<<9, "shared memory"),
		powerOfTwo("MinDivided", c.MinDivided, 16, 1<<9, "shared memory"),
		between("Part", c.Part, 1, 1<<30, "an index has 32 bits"),
		between("MinSize", c.MinSize, 1, 1<<30, "an index has 32 bits"),
	} {
		if err != nil {
			return err
		}
	}
	if n := c.threads(l); n > l.Threads && c.On {
		return fmt.Errorf("BlockM is %d: with WarpM %d, BlockN %d and WarpN %d, a block has %d threads: want at most %d "+
			"(the target's max_threads_per_block)", c.BlockM, c.WarpM, c.BlockN, c.WarpN, n, l.Threads)
	}
	return nil
}

// group schedules a group whose result is a sum of products that fragments can compute; false if it is something else,
// or too small. The sums of parts are elementwise kernels.
func (c *TensorCore) group(g *schedule.Group, e *Elementwise, l Limits) bool {
	if !c.On && !c.TF32 {
		return false
	}
	k := contractionOf(g.Schedule, g.Result)
	return k != nil && len(g.Parts()) == 0 && len(k.m) == 1 && len(k.n) == 1 && c.product(g, k, e, l)
}

// product schedules a group by the contraction that computes its result, and which reads the parts of its operator
// inline; false if fragments cannot compute it, or if it is too small.
func (c *TensorCore) product(g *schedule.Group, k *contraction, e *Elementwise, l Limits) bool {
	shape, ok := c.fragment(k, l)
	if !ok {
		return false
	}
	t, ok := c.tile(k, shape, l)
	if !ok {
		return false
	}
	for c.narrow(k) && t.stages > 2 && t.sharedBytes() > c.NarrowBytes {
		t.stages--
	}
	for _, part := range g.Parts() {
		g.Schedule.Stage(part).ComputeInline()
	}
	k.left, k.right = narrowed(k.left), narrowed(k.right)
	newFragments(k, t, l).schedule(g, func() { e.group(without(g), l) })
	return true
}

// fragment returns the product of fragments that computes a contraction, without the conversions of its operands to the
// type of the sums.
func (c *TensorCore) fragment(k *contraction, l Limits) (shape Fragment, ok bool) {
	sum := k.left.DType()
	left, right := narrowed(k.left), narrowed(k.right)
	operand := left.DType()
	if right.DType() != operand || sum.Lanes != 1 {
		return shape, false
	}
	for _, f := range l.Fragments {
		if f.Operand != operand || f.Sum != sum || operand == tir.Float32 && !c.TF32 || operand != tir.Float32 && !c.On {
			continue
		}
		return f, true
	}
	return shape, false
}

// narrowed returns the operand of a conversion to a wider type.
func narrowed(e tir.Expr) tir.Expr {
	if c, ok := e.(*tir.Cast); ok && c.Type.Bits > c.Value.DType().Bits && tir.IsFloat(c.Type) == tir.IsFloat(
		c.Value.DType()) {
		return c.Value
	}
	return e
}

// narrow reports whether threads fetch an operand in no whole vectors, or have to find its elements in windows.
func (c *TensorCore) narrow(k *contraction) bool {
	narrow := len(k.k) > 1 || len(k.m) > 1 || len(k.n) > 1
	for d, e := range []tir.Expr{narrowed(k.left), narrowed(k.right)} {
		lanes := [][]*tir.IterVar{k.m, k.n}[d]
		tir.Walk(e, func(n any) bool {
			if load, ok := n.(*tir.ProducerLoad); ok && !narrow {
				a, size := access{load.Producer.(*te.Tensor), load.Indices}, max(1, c.VectorBytes/typeBytes(e.DType()))
				narrow = !a.vectors(k.k[0], size) && !a.vectors(lanes[0], size)
			}
			return true
		})
	}
	return narrow
}

// spread makes the results of a warp fewer until a block has enough warps.
func (c *TensorCore) spread(warps int, l Limits) {
	for c.BlockM/c.WarpM*(c.BlockN/c.WarpN) < warps && max(c.WarpM, c.WarpN) > 16 && 2*c.threads(l) <= l.Threads {
		if c.WarpM >= c.WarpN {
			c.WarpM /= 2
		} else {
			c.WarpN /= 2
		}
	}
}

// fragmentTile is the division of a product among blocks, warps and fragments.
type fragmentTile struct {
	Fragment
	block, warp [2]int // rows and columns
	depth       int    // products of each sum in a step
	stages      int
	parts       int // parts of a sum, which different blocks compute; 1: none
	bytes       int // that a thread loads or stores at once
}

// tile chooses the tiles of a contraction; false if it is too small, or if nothing fits shared memory.
func (c *TensorCore) tile(k *contraction, f Fragment, l Limits) (t fragmentTile, ok bool) {
	rows, cols, depth := constantSize(fusedSize(k.m)), constantSize(fusedSize(k.n)), constantSize(fusedSize(k.k))
	batch := constantSize(fusedSize(k.batch))
	if least := int64(c.MinSize); rows < max(least, int64(f.M)) || cols < max(least, int64(f.N)) || depth < least ||
		batch < 1 {
		return t, false
	}
	now := *c
	least := max(c.MinBlock, f.M, f.N)
	for now.BlockM > f.M && int64(now.BlockM) > rows { // every tile is whole: see te's Tensorize
		now.BlockM /= 2
	}
	for now.BlockN > f.N && int64(now.BlockN) > cols {
		now.BlockN /= 2
	}
	now.WarpM, now.WarpN = min(now.WarpM, now.BlockM), min(now.WarpN, now.BlockN)
	blocks := func() int64 {
		return times(batch, times((rows-1)/int64(now.BlockM)+1, (cols-1)/int64(now.BlockN)+1))
	}
	long := depth >= 2*int64(c.Part)
	for blocks() < int64(now.Blocks) && max(now.BlockM, now.BlockN) > least &&
		!(long && max(now.BlockM, now.BlockN) <= c.MinDivided) {
		now.halve()
	}
	warps := c.Warps
	if c.narrow(k) {
		warps = c.NarrowWarps
	}
	for {
		now.spread(warps, l)
		t = fragmentTile{Fragment: f, block: [2]int{now.BlockM, now.BlockN}, warp: [2]int{now.WarpM, now.WarpN},
			depth: max(f.K, now.BlockBytes/typeBytes(f.Operand)), stages: now.Stages, parts: 1, bytes: c.VectorBytes}
		steps := (depth-1)/int64(t.depth) + 1
		if b := blocks(); long && 2*b <= int64(c.Blocks) {
			t.parts = int(min((int64(c.Blocks)-1)/b+1, depth/int64(c.Part), steps, 1<<10))
		}
		t.stages = int(min(int64(t.stages), (steps-1)/int64(t.parts)+1))
		switch {
		case t.sharedBytes() <= c.SharedBytes && now.threads(l) <= l.Threads:
			return t, now.WarpM%f.M == 0 && now.WarpN%f.N == 0
		case now.Stages > 2:
			now.Stages--
		case max(now.BlockM, now.BlockN) > least:
			now.halve()
		case now.BlockBytes > 32:
			now.BlockBytes /= 2
		case now.Stages > 1:
			now.Stages--
		default:
			return t, false
		}
	}
}

// sharedBytes is the size of a block's shared memory: of the operands, with 16 bytes after each row, and of the sums on
// their way to the result, a row of fragments of each warp at a time. They take the memory of the left operand if both
// are large (transform.ReuseStorage).
func (t *fragmentTile) sharedBytes() int {
	operand := func(d int) int { return t.block[d] * (t.depth*typeBytes(t.Operand) + 16) * t.stages }
	sums := t.block[0] / t.warp[0] * t.M * (t.block[1] + sumsPad) * typeBytes(t.Sum)
	if min(operand(0), sums) < 1<<13 { // not certainly
		return operand(0) + operand(1) + sums
	}
	return max(operand(0), sums) + operand(1)
}
