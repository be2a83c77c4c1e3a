package explain

import (
	"maps"
	"strings"

	"tvmgo/tir"
)

// run evaluates the kernel for some warps of some blocks.
func (k *simulation) run(out *Kernel, block []int64, warpSize int) {
	warps := ceilDiv(block[0]*block[1]*block[2], int64(warpSize))
	var blocks []axis
	for _, a := range k.axes {
		if strings.HasPrefix(a.tag, "blockIdx.") {
			blocks = append(blocks, a)
		}
	}
	var visit func(rest []axis, env map[*tir.Var]lanes, weight float64)
	visit = func(rest []axis, env map[*tir.Var]lanes, weight float64) {
		if len(rest) > 0 {
			for _, s := range samplesOf(rest[0].n.one, 3) {
				env[rest[0].v] = same(s.at)
				visit(rest[1:], env, weight*s.weight)
			}
			return
		}
		for _, s := range warpsOf(warps) {
			w := &warp{k: k, threads: warpSize, env: maps.Clone(env), weight: weight * s.weight, samples: 1}
			k.place(w, block, s.at*int64(warpSize))
			w.stmt(k.f.Body)
		}
	}
	visit(blocks, maps.Clone(k.env), 1)
	for _, s := range k.sites {
		s.finish()
		out.Accesses = append(out.Accesses, s.Access)
	}
}

// warpsOf returns the warps of a block to evaluate.
func warpsOf(n int64) []sample {
	if n > mostWarps {
		return samplesOf(n, 3)
	}
	var all []sample
	for i := range n {
		all = append(all, sample{i, 1})
	}
	return all
}

// mostWarps is the number of warps up to which all of a block are evaluated.
const mostWarps = 8

// place sets the indices of a warp's threads, from the one with a linear index on.
func (k *simulation) place(w *warp, block []int64, first int64) {
	index := [3][]int64{}
	w.active = make([]bool, w.threads)
	for d := range index {
		index[d] = make([]int64, w.threads)
	}
	for i := range w.active {
		n := first + int64(i)
		w.active[i] = n < block[0]*block[1]*block[2]
		index[0][i], index[1][i], index[2][i] = n%block[0], n/block[0]%block[1], n/(block[0]*block[1])
	}
	for _, a := range k.axes {
		if d := strings.IndexByte("xyz", a.tag[len(a.tag)-1]); d >= 0 && strings.HasPrefix(a.tag, "threadIdx.") {
			w.env[a.v] = lanes{known: true, each: index[d]}
		}
	}
}

// work sums up the accesses and the operations.
func (k *simulation) work(out *Kernel, sm int) {
	w := &Work{ByType: k.operations, Estimated: k.estimated}
	read, written := map[*tir.Buffer]float64{}, map[*tir.Buffer]float64{}
	for _, s := range k.sites {
		if isShared(s.Scope) {
			continue
		}
		w.BytesMoved += s.moved
		if s.store {
			w.BytesWritten += s.bytes
			written[s.buffer] += s.bytes
		} else {
			w.BytesRead += s.bytes
			read[s.buffer] += s.bytes
		}
	}
	for b, n := range read {
		w.FootprintRead += min(n, k.size(b))
	}
	for b, n := range written {
		w.FootprintWrite += min(n, k.size(b))
	}
	for _, n := range k.operations {
		w.Operations += n
	}
	if bytes := w.BytesRead + w.BytesWritten; bytes > 0 {
		w.Intensity = w.Operations / bytes
	}
	footprint := w.FootprintRead + w.FootprintWrite
	if footprint > 0 {
		w.Reuse = w.Operations / footprint
	}
	if p, known := peaks[sm]; known && footprint > 0 {
		compute := p.seconds(k.operations)
		w.Ridge = p.float32 / p.memory
		w.AtLeastSeconds = max(compute, footprint/p.memory)
		switch {
		case compute <= footprint/p.memory:
			w.Bound = BoundMemory
		case compute >= w.BytesMoved/p.memory:
			w.Bound = BoundCompute
		default:
			w.Bound = BoundCache
		}
	}
	out.Work = w
}

// seconds returns how long operations take at least. Integers are taken to be as fast as float32.
func (p peak) seconds(operations map[string]float64) (s float64) {
	for t, n := range operations {
		switch {
		case t == "float64":
			s += n / p.float64
		case strings.HasPrefix(t, tensorPrefix) && p.tensor16 > 0:
			s += n / p.tensor16
		default:
			s += n / p.float32
		}
	}
	return s
}

// tensorPrefix begins the names of operations of tensor cores in Work.ByType.
const tensorPrefix = "tensor:"

// size returns the number of bytes of a buffer.
func (k *simulation) size(b *tir.Buffer) float64 {
	w := &warp{k: k, threads: 1, env: k.env}
	n := float64(elementBytes(b))
	for _, e := range b.Shape {
		v := w.eval(e, 0)
		if !v.known {
			return 1e300
		}
		n *= float64(v.one)
	}
	return n
}
