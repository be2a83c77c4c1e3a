package cuda

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/codegen/explain"
	"tvmgo/target"
	"tvmgo/tir"
)

// Limits of all architectures.
const (
	maxThreadsXY = 1024 // of a block along x and y
	maxThreadsZ  = 64
	maxGridX     = 1<<31 - 1
	maxGridYZ    = 65535
)

// verifyLimits rejects kernels that exceed a limit of the target's architecture. Limits that are options of the target
// are checked by transform.VerifyLimits.
func verifyLimits(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	if t == nil {
		return m, nil
	}
	name, arch := archOf(t)
	for _, f := range m.Funcs {
		if err := checkLaunch(f); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", f.Name, err)
		}
		if err := checkShared(f, name, arch); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", f.Name, err)
		}
	}
	return m, nil
}

// checkLaunch checks constant extents of threads and blocks.
func checkLaunch(f *tir.PrimFunc) (err error) {
	tir.Walk(f.Body, func(node any) bool {
		loop, ok := node.(*tir.For)
		if !ok || loop.Kind != tir.ThreadBind || err != nil {
			return err == nil
		}
		extent, constant := loop.Extent.(*tir.IntImm)
		if !constant {
			return true
		}
		what, limit, wayOut := "blocks", int64(maxGridYZ), "bind the longest loop to blockIdx.x, which has 2147483647"
		switch loop.Thread {
		case "blockIdx.x":
			limit, wayOut = maxGridX, "let each block do more"
		case "threadIdx.x", "threadIdx.y":
			what, limit, wayOut = "threads", maxThreadsXY, "split the loop, and bind its outer part to blocks"
		case "threadIdx.z":
			what, limit, wayOut = "threads", maxThreadsZ, "bind a longer loop to threadIdx.x or threadIdx.y, which have 1024"
		}
		if extent.Value > limit {
			err = fmt.Errorf("%s has %d %s, %d more than CUDA allows (%d): %s", loop.Thread, extent.Value, what,
				extent.Value-limit, limit, wayOut)
		}
		return err == nil
	})
	return err
}

// checkShared checks the shared memory of a block, static and dynamic.
func checkShared(f *tir.PrimFunc, name string, arch int) error {
	limit := target.SharedPerBlock(arch)
	if limit == 0 {
		limit = Language.StaticShared // older architectures
	}
	total, most, largest := int64(0), int64(0), ""
	tir.Walk(f.Body, func(node any) bool {
		s, ok := node.(*tir.Alloc)
		if !ok || s.Buffer.StorageScope() != "shared" && s.Buffer.StorageScope() != dynamicScope {
			return true
		}
		n := (bytesOf(s.Buffer) + 15) / 16 * 16
		if total += n; n > most {
			most, largest = n, s.Buffer.Name
		}
		return true
	})
	if total <= limit {
		return nil
	}
	var others []string
	for _, a := range explain.Capabilities() {
		if more := target.SharedPerBlock(a); more >= total {
			others = append(others, fmt.Sprintf("sm_%d (%d)", a, more))
		}
	}
	wayOut := "compute smaller tiles"
	if len(others) > 0 {
		wayOut += ", or build for an arch that has more: " + strings.Join(others[:min(len(others), 4)], ", ")
	}
	return fmt.Errorf("a block uses %d bytes of shared memory, most of it for buffer %s: %d more than %s has (%d): %s",
		total, largest, total-limit, name, limit, wayOut)
}

// olderArchs are architectures that are known, apart from those of package explain: NVRTC 11.2 supports them.
var olderArchs = []int{35, 37, 50, 52, 53, 62, 88}

// knownArchs lists architectures: those for which an NVRTC from 11.2 on compiles, and others, ascending.
func knownArchs(others []int) []int {
	known := slices.Concat(explain.Capabilities(), olderArchs, others)
	slices.Sort(known)
	return slices.Compact(known)
}
