package suite

import (
	"context"
	"fmt"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// localKernel is a kernel that accesses shared memory: vectors of float32, one of each work item of a group.
type localKernel struct {
	name, family, doc string
	width             int  // elements of a vector
	rotate            bool // as clpeak: each work item writes a vector and reads its neighbor's, with barriers
	threads           int  // a power of two
	steps             int  // iterations, of one write and one read, or of eight reads
	groups            int
}

// localMemory returns the cases of suite bandwidth in which kernels access shared memory, which OpenCL calls local.
func localMemory() (list []*bench.Case) {
	for _, k := range localKernels() {
		list = append(list, &bench.Case{Suite: "bandwidth", Name: k.name, Family: k.family, Doc: k.doc,
			Figure: bench.Bandwidth, Variants: variant(func(ctx context.Context, on *bench.Device, r *resources) (bench.Work,
				error) {
				to, err := Target(on)
				if err != nil {
					return nil, err
				}
				return k.sizesFor(on, to).open(on, r)
			})})
	}
	return list
}

func localKernels() (list []localKernel) {
	for _, width := range []int{1, 4} {
		name := "local-scalar"
		if width > 1 {
			name = fmt.Sprintf("local-vec%d", width)
		}
		list = append(list, localKernel{name: name, family: LocalBandwidth, width: width, steps: 256,
			doc: fmt.Sprintf("work items read vectors of %d float32 of their group", width)})
	}
	for _, width := range []int{1, 2, 4, 8} {
		name := "local_memory_bandwidth/float"
		if width > 1 {
			name += fmt.Sprint(width)
		}
		list = append(list, localKernel{name: name, width: width, rotate: true, steps: 64,
			doc: fmt.Sprintf("each work item writes a vector of %d float32 and reads its neighbor's, with barriers", width)})
	}
	return list
}

// sizesFor returns the kernel with as many groups as suit a device.
func (k localKernel) sizesFor(on *bench.Device, to *target.Target) localKernel {
	k.threads, k.groups = 256, 16*unit(on, to)
	if to.Attrs()["device_type"] == "cpu" {
		k.threads = 64
	}
	if k.rotate {
		k.groups *= 8
	}
	return k
}

// bytes returns what all groups read and write in shared memory.
func (k localKernel) bytes() float64 {
	accesses := 2 * k.steps
	if !k.rotate {
		accesses = 3 + 8*k.steps // the first ones are the initial values, twice, and a read of them
	}
	return float64(k.groups*k.threads*accesses) * float64(k.width*4)
}

// program returns local(Z, groups): Z has a vector of each work item. Shared memory holds the vectors of a group twice,
// so that the address of eight reads is computed once.
func (k localKernel) program() (*tir.IRModule, error) {
	at := func(base string) string { return shape{memoryKernel: memoryKernel{width: k.width}}.vector(base) }
	var b strings.Builder
	fmt.Fprintf(&b, `
func local(z: handle, groups: int32) {
buffer Z: float32[groups * %d], param z
thread group in range(groups), thread "blockIdx.x" {
thread item in range(%d), thread "threadIdx.x" {
alloc M: float32[%d], scope "shared"
alloc S: float32[%d], scope "local"
`, k.threads*k.width, k.threads, 2*k.threads*k.width, k.width)
	for lane := range k.width {
		fmt.Fprintf(&b, "S[%d] = float32(floormod(group, 8) + item * %d + %[1]d)\n", lane, k.width)
	}
	mine, own := at(fmt.Sprintf("item * %d", k.width)), at("0")
	if k.rotate {
		next := at(fmt.Sprintf("bitwise_and[int32](item + 1, %d) * %d", k.threads-1, k.width))
		fmt.Fprintf(&b, `for step in range(%d) {
M[%s] = S[%s]
storage_sync[void]("shared")
S[%[3]s] = M[%[4]s]
storage_sync[void]("shared")
}
`, k.steps, mine, own, next)
	} else {
		fmt.Fprintf(&b, `M[%s] = S[%s]
M[%s] = S[%[2]s]
storage_sync[void]("shared")
S[%[2]s] = M[%[1]s]
for step in range(%[4]d) {
let base = (item + bitwise_and[int32](step * 8, %[5]d)) * %[6]d {
`, mine, own, at(fmt.Sprintf("(item + %d) * %d", k.threads, k.width)), k.steps, k.threads-1, k.width)
		for n := range 8 {
			fmt.Fprintf(&b, "S[%s] = S[%[1]s] + M[%s]\n", own, at(fmt.Sprintf("base + %d", n*k.width)))
		}
		b.WriteString("}\n}\n")
	}
	fmt.Fprintf(&b, "Z[%s] = S[%s]\n}\n}\n}\n", at(fmt.Sprintf("group * %d + item * %d", k.threads*k.width, k.width)), own)
	return text.Parse(b.String())
}

// reference returns what a work item of a group stores.
func (k localKernel) reference(group, item, lane int) float64 {
	value := func(item int) float64 { return float64(group%8 + item%k.threads*k.width + lane) }
	if k.rotate {
		return value(item + k.steps)
	}
	sum := value(item)
	for n := range 8 * k.steps {
		sum += value(item + n)
	}
	return sum
}

// localWork is a kernel that accesses shared memory, on a device.
type localWork struct {
	bench.Calls
	of     localKernel
	result *runtime.Tensor
}

func (k localKernel) open(on *bench.Device, r *resources) (bench.Work, error) {
	if on.Handle == runtime.CPU {
		return nil, notMeasured("a CPU has no shared memory: threads share its caches")
	}
	program, err := k.program()
	if err != nil {
		return nil, err
	}
	call, err := openKernel(on, program, "local", runtime.Dim3{k.threads})
	if err != nil {
		return nil, err
	}
	*r = append(*r, call.Close)
	w := &localWork{of: k}
	w.On, w.Free, w.Do = on.Handle, []func() error{r.Close}, bench.Amount{Bytes: k.bytes()}
	w.Known = bench.Facts{"vector width": k.width, "groups": k.groups, "group size": k.threads}
	elements := []int64{int64(k.groups * k.threads * k.width)}
	if w.result, err = keep(runtime.NewTensor(dlpack.Float32, elements, w.On))(r); err != nil {
		return nil, err
	}
	w.Call, err = call.bind(k.groups, w.result)
	return w, err
}

// Check compares all results.
func (w *localWork) Check(ctx context.Context) (string, error) {
	if err := w.result.CopyFromBytes(make([]byte, w.result.Size())); err != nil {
		return "", err
	}
	if err := w.Call(); err != nil {
		return "", err
	}
	if err := runtime.SyncDevice(ctx, w.On); err != nil {
		return "", err
	}
	got, err := valuesOf(w.result)
	if err != nil {
		return "", err
	}
	group := w.of.threads * w.of.width
	references := map[[2]int]float64{} // of the group, modulo 8, and the element
	for i, v := range got {
		key := [2]int{i / group % 8, i % group}
		want, known := references[key]
		if !known {
			want = w.of.reference(key[0], i%group/w.of.width, i%w.of.width)
			references[key] = want
		}
		if v != want {
			return "", wrong("result %d is %v, and not %v", i, v, want)
		}
	}
	return fmt.Sprintf("%d elements, exact", len(got)), nil
}
