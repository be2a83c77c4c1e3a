package suite

import (
	"context"
	"fmt"
	"strings"

	"tvmgo/bench"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// MemoryKernels returns the cases of suite bandwidth in which kernels access memory. Each byte that a kernel reads or
// writes counts once: a copy counts twice.
//
// Global memory is read from arrays that no cache holds. global is a copy, stream_* are STREAM's loops, and
// global_memory_bandwidth/* clpeak's reads. BandwidthLimits says which of them limit a kernel.
func MemoryKernels() (list []*bench.Case) {
	for _, m := range memoryKernels() {
		list = append(list, &bench.Case{Suite: "bandwidth", Name: m.name, Family: m.family, Doc: m.doc,
			Figure: bench.Bandwidth, Variants: variant(func(ctx context.Context, on *bench.Device, r *resources) (bench.Work,
				error) {
				return m.open(on, r, mostBytes)
			})})
	}
	return append(list, localMemory()...)
}

// mostBytes is the size of an array that kernels read or write: beyond the last caches of most devices. For a device
// with a larger cache, it is four times its size.
const mostBytes = 256 << 20

// memoryKernel is a kernel that reads arrays and writes one, from beginning to end.
type memoryKernel struct {
	name, family, doc string
	t                 tir.Type
	width             int    // elements of a vector; 0: what suits the device
	inputs            int    // arrays that are read
	value             string // what is written, of X and Y; "": the sum of what a work item reads
}

func memoryKernels() []memoryKernel {
	list := []memoryKernel{
		{name: "global", family: GlobalCopy, doc: "a kernel copies an array: Y = X",
			t: tir.Float32, inputs: 1, value: "X"},
		{name: "global_write", doc: "a kernel fills an array: Y = 1", t: tir.Float32, value: "ONE"},
		{name: "stream_copy", family: GlobalCopy, doc: "STREAM's copy: C = A", t: tir.Float64, inputs: 1, value: "X"},
		{name: "stream_scale", family: GlobalCopy, doc: "STREAM's scale: B = 3·C",
			t: tir.Float64, inputs: 1, value: "THREE * X"},
		{name: "stream_add", family: GlobalSum, doc: "STREAM's add: C = A + B",
			t: tir.Float64, inputs: 2, value: "X + Y"},
		{name: "stream_triad", family: GlobalSum, doc: "STREAM's triad: A = B + 3·C",
			t: tir.Float64, inputs: 2, value: "X + THREE * Y"},
	}
	for _, width := range []int{1, 2, 4, 8, 16} {
		name := "global_memory_bandwidth/float"
		if width > 1 {
			name += fmt.Sprint(width)
		}
		list = append(list, memoryKernel{name: name, family: GlobalRead, t: tir.Float32, width: width, inputs: 1,
			doc: fmt.Sprintf("each work item reads and adds 16 vectors of %d float32", width)})
	}
	return list
}

// shape is the shape of a memory kernel for a device.
type shape struct {
	memoryKernel
	threads int // work items of a group
	vectors int // of a work item
	loop    int // iterations of a loop of a work item, with vectors in each: 1 on GPUs

	// neighbors says that the vectors of a work item are neighbors in memory, as suits a CPU, which executes one work
	// item after the other. Otherwise those of neighboring work items are.
	neighbors bool
}

// elements returns the elements that a group reads from each array.
func (s shape) elements() int { return s.threads * s.vectors * s.loop * s.width }

// sums returns the number of sums that a group writes, if it does.
func (s shape) sums() int { return s.threads }

// shapeFor returns the shape of a kernel for a target. On a CPU, a group is a part of the array, of some pages.
func (m memoryKernel) shapeFor(to *target.Target) shape {
	s := shape{memoryKernel: m, threads: 256, vectors: 4, loop: 1}
	if m.value == "" {
		s.vectors = 16
	}
	if s.width == 0 {
		if s.width = 128 / int(m.t.Bits); hasVectors(to) {
			s.width, s.neighbors = 512/int(m.t.Bits), true
		}
	}
	if forHost(to) {
		s.threads, s.vectors = 1, 4
		s.loop = 16 << 10 / s.vectors / s.width
	}
	return s
}

// program returns access(X, Y, Z, groups): the arrays that are read, and the one that is written.
func (s shape) program(host bool) (*tir.IRModule, error) {
	var b strings.Builder
	arrays := []string{"X", "Y"}[:s.inputs]
	b.WriteString("func access(")
	for _, a := range append(arrays, "Z") {
		fmt.Fprintf(&b, "%s_: handle, ", a)
	}
	b.WriteString("groups: int32) {\n")
	for _, a := range arrays {
		fmt.Fprintf(&b, "buffer %s: %s[groups * %d], param %[1]s_\n", a, s.t, s.elements())
	}
	if s.value == "" {
		fmt.Fprintf(&b, "buffer Z: %s[groups * %d], param Z_\n", s.t, s.sums())
	} else {
		fmt.Fprintf(&b, "buffer Z: %s[groups * %d], param Z_\n", s.t, s.elements())
	}
	if host {
		b.WriteString("parallel group in range(groups) {\n{\n")
	} else {
		fmt.Fprintf(&b, "thread group in range(groups), thread \"blockIdx.x\" {\n"+
			"thread item in range(%d), thread \"threadIdx.x\" {\n", s.threads)
	}
	s.body(&b, host)
	b.WriteString("}\n}\n}\n")
	source := b.String()
	if host {
		source = strings.NewReplacer("{\n{\n", "{\n", "}\n}\n}\n", "}\n}\n").Replace(source)
	}
	return text.Parse(source)
}

// body writes what a work item does.
func (s shape) body(b *strings.Builder, host bool) {
	sums, item := 1, "item" // one sum, as clpeak
	if host {
		sums, item = min(s.vectors, 4), "0"
	}
	if s.value == "" {
		fmt.Fprintf(b, "alloc S: %s[%d], scope \"local\"\n", s.t, sums*s.width)
		for n := range sums {
			fmt.Fprintf(b, "S[%s] = %s\n", s.vector(fmt.Sprint(n*s.width)), s.constant(0))
		}
	}
	if s.loop > 1 {
		fmt.Fprintf(b, "for step in range(%d) {\n", s.loop)
	} else {
		b.WriteString("let step = 0 {\n")
	}
	for n := range s.vectors {
		next, each := s.threads*s.width, s.width // from a vector to the next one, and from a work item to its neighbor
		if s.neighbors {
			next, each = s.width, s.vectors*s.width
		}
		at := s.vector(fmt.Sprintf("group * %d + step * %d + %d + %s * %d", s.elements(), s.threads*s.vectors*s.width,
			n*next, item, each))
		if s.value == "" {
			sum := s.vector(fmt.Sprint(n % sums * s.width))
			fmt.Fprintf(b, "S[%s] = S[%[1]s] + X[%s]\n", sum, at)
			continue
		}
		value := strings.NewReplacer("ONE", s.constant(1), "THREE", s.constant(3), "X", "X["+at+"]", "Y", "Y["+at+"]").
			Replace(s.value)
		fmt.Fprintf(b, "Z[%s] = %s\n", at, value)
	}
	b.WriteString("}\n")
	if s.value == "" {
		var lanes []string
		for n := range sums * s.width {
			lanes = append(lanes, fmt.Sprintf("S[%d]", n))
		}
		fmt.Fprintf(b, "Z[group * %d + %s] = %s\n", s.sums(), item, strings.Join(lanes, " + "))
	}
}

func (s shape) vector(base string) string {
	if s.width == 1 {
		return base
	}
	return fmt.Sprintf("ramp(%s, 1, %d)", base, s.width)
}

func (s shape) constant(v int) string {
	c := fmt.Sprintf("%s(%d.0)", s.t, v)
	if s.width == 1 {
		return c
	}
	return fmt.Sprintf("broadcast(%s, %d)", c, s.width)
}

// open prepares a kernel that accesses arrays of a number of bytes.
func (m memoryKernel) open(on *bench.Device, r *resources, bytes int64) (bench.Work, error) {
	to, err := Target(on)
	if err != nil {
		return nil, err
	}
	if why := lacksType(to, m.t); why != "" {
		return nil, notMeasured("%s", why)
	}
	s := m.shapeFor(to)
	host := forHost(to)
	program, err := s.program(host)
	if err != nil {
		return nil, err
	}
	group := int64(s.elements()) * int64(m.t.Bits) / 8
	groups := int(max(arraySize(on, to, bytes)/group, 1))
	w := &memoryWork{of: s, groups: groups}
	w.On, w.Free = on.Handle, []func() error{r.Close}
	w.Known = bench.Facts{"array": int64(groups) * group, "vector width": s.width}
	outputs := int64(groups) * group
	if m.value == "" {
		outputs = int64(groups*s.sums()) * int64(m.t.Bits) / 8
	}
	inputs := int64(m.inputs) * int64(groups) * group
	if err := needMemory(on, inputs+outputs, 0); err != nil {
		return nil, err
	}
	w.Do = bench.Amount{Bytes: float64(inputs)}
	if m.value != "" {
		w.Do.Bytes += float64(outputs)
	}
	k, err := openKernel(on, program, "access", runtime.Dim3{s.threads})
	if err != nil {
		return nil, err
	}
	*r = append(*r, k.Close)
	return w, w.allocate(k, r)
}

// arraySize returns the size of an array in bytes: what is asked for, or four times the device's last cache if that is
// more; at most what a buffer of the device can have, and an eighth of its memory.
func arraySize(on *bench.Device, to *target.Target, bytes int64) int64 {
	if v, err := runtime.DeviceAttr(on.Handle, runtime.AttrL2CacheSizeBytes); err == nil && bytes == mostBytes {
		cache, _ := v.(int64)
		bytes = max(bytes, 4*cache)
	}
	if most, ok := to.Attrs()["max_storage_buffer_range"].(int64); ok && most > 0 {
		bytes = min(bytes, most)
	}
	if total, _, err := deviceMemory(on.Handle); err == nil && total > 0 {
		bytes = min(bytes, total/8)
	}
	return bytes
}
