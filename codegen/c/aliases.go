package c

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/alias"
)

// AttrAliases is the attribute of a module with the pairs of tensors that must not overlap, from
// [alias.Pairs], as JSON by function name. For a function that is not in it, the entry compares the pairs of
// its own body.
const AttrAliases = "tvmgo.aliases"

// AliasCheck reports whether the functions of a target compare the memory of their arguments: option alias-check of the
// target and its hosts.
func AliasCheck(t *target.Target) bool {
	for ; t != nil; t = t.Host() {
		if on, err := target.Get[bool](t, "alias-check"); err == nil && !on {
			return false
		}
	}
	return true
}

// aliasPairs returns the pairs of the function.
func (e *entry) aliasPairs() []alias.Pair {
	if text, ok := e.module.Attrs[AttrAliases].(string); ok {
		if e.aliases == nil {
			if err := json.Unmarshal([]byte(text), &e.aliases); err != nil {
				e.fail("the module's attribute %s is not what it should be: %w", AttrAliases, err)
			}
		}
		if pairs, ok := e.aliases[e.f.Name]; ok {
			return pairs
		}
	}
	if !AliasCheck(e.target) {
		return nil
	}
	return alias.Pairs(e.module, e.f.PrimFunc)
}

// hasAddresses reports whether the data of a device's tensors is an address, and not a handle.
func hasAddresses(device int64) bool {
	switch dlpack.DeviceType(device) {
	case dlpack.CPU, dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged, dlpack.ROCM, dlpack.ROCMHost:
		return true
	}
	return false
}

// maxAliasTests is the number of pairs of tensors up to which an entry compares them one by one. More pairs are in a
// table, so that the code does not grow with the square of the number of tensors.
const maxAliasTests = 8

// compareMemory writes the checks that no argument overlaps one that is written.
func (e *entry) compareMemory() {
	var pairs []alias.Pair
	ranges := map[int][2]string{}
	for _, pair := range e.aliasPairs() {
		i, j := pair.First, pair.Second
		if max(i, j) >= len(e.f.params) || e.f.params[i].buffer == nil || e.f.params[j].buffer == nil {
			continue // passes have changed the parameters
		}
		device, _ := deviceOfParam(e.f.PrimFunc, i)
		if other, _ := deviceOfParam(e.f.PrimFunc, j); other != device {
			continue
		}
		for _, k := range []int{i, j} {
			if _, ok := ranges[k]; !ok {
				ranges[k] = e.memoryOf(k)
			}
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) > maxAliasTests {
		e.compareTable(pairs, ranges)
		return
	}
	for _, pair := range pairs {
		i, j := pair.First, pair.Second
		a, b := ranges[i], ranges[j]
		e.snippet("overlap")
		cond := fmt.Sprintf("tvmgo_overlap(%s, %s, %s, %s)", a[0], a[1], b[0], b[1])
		if pair.Same {
			cond = fmt.Sprintf("%s != %s && %s", a[0], b[0], cond)
		}
		if e.hasHandle(i) {
			cond = fmt.Sprintf("%s->data == %s->data && %s", e.vars[e.f.params[i].v], e.vars[e.f.params[j].v], cond)
		}
		e.line("if (%s) return tvmgo_overlaps(&p[%d], &p[%d], %d, %d, %d);", cond, i, j, flag(pair.FirstWritten),
			flag(pair.SecondWritten), flag(pair.Same))
	}
}

// compareTable compares the pairs in a loop. ranges contains the memory of tensors, by parameter.
func (e *entry) compareTable(pairs []alias.Pair, ranges map[int][2]string) {
	e.snippet("apart")
	params := slices.Sorted(maps.Keys(ranges))
	place := map[int]int{}
	memory, table := e.temp("memory"), e.temp("pairs")
	e.line("const tvmgo_memory %s[] = {", memory)
	for k, i := range params {
		place[i] = k
		handle := "NULL"
		if e.hasHandle(i) {
			handle = e.vars[e.f.params[i].v] + "->data"
		}
		e.line("  {%d, %s, %s, %s},", i, handle, ranges[i][0], ranges[i][1])
	}
	e.line("};")
	e.line("static const tvmgo_pair %s[] = {", table)
	var row strings.Builder
	for k, pair := range pairs {
		fmt.Fprintf(&row, "{%d, %d, %d, %d, %d},", place[pair.First], place[pair.Second], flag(pair.FirstWritten),
			flag(pair.SecondWritten), flag(pair.Same))
		if k%8 == 7 || k == len(pairs)-1 {
			e.line("  %s", row.String())
			row.Reset()
		}
	}
	e.line("};")
	e.line("if (tvmgo_apart(p, %s, %s, %d) != 0) return -1;", memory, table, len(pairs))
}

// hasHandle reports whether the data of a parameter's tensors is a handle. Memory of different handles never overlaps.
func (e *entry) hasHandle(i int) bool {
	device, _ := deviceOfParam(e.f.PrimFunc, i)
	return device != 0 && !hasAddresses(device)
}

// flag returns a bool in C.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// memoryOf writes the start of a tensor's elements and the number of bytes that they span, and returns the names of
// both variables.
func (e *entry) memoryOf(i int) [2]string {
	b, t := e.f.params[i].buffer, e.vars[e.f.params[i].v]
	start, size := e.temp(fmt.Sprintf("start_%d", i)), e.temp(fmt.Sprintf("size_%d", i)) // not by its name: see arguments
	if e.plain(i) {
		e.line("const uintptr_t %s = (uintptr_t)%s;", start, e.data[i])
	} else {
		e.line("const uintptr_t %s = (uintptr_t)%s->data + (uintptr_t)%s->byte_offset;", start, t, t)
	}
	bits := int64(b.DType.Bits) * int64(b.DType.Lanes)
	if tir.IsBool(b.DType) {
		bits = 8
	}
	if b.Strides != nil {
		low := e.temp(fmt.Sprintf("low_%d", i))
		e.snippet("reach")
		e.line("uint64_t %s;", size)
		e.line("const uintptr_t %s = %s - tvmgo_reach(%s, %d, &%s);", low, start, t, bits, size)
		return [2]string{low, size}
	}
	factors, constant := []string{}, int64(1)
	for d, n := range b.Shape {
		if k, ok := n.(*tir.IntImm); ok && k.Value >= 0 && k.Value < 1<<40 && constant < 1<<20 {
			constant *= k.Value
		} else {
			factors = append(factors, fmt.Sprintf("(uint64_t)%s->shape[%d]", t, d))
		}
	}
	if bits%8 == 0 {
		constant *= bits / 8
		bits = 8
	}
	if constant != 1 || len(factors) == 0 { // functions of other sizes share the code
		factors = append(factors, fmt.Sprintf("(uint64_t)limits[%d]", len(e.limits)))
		e.limits = append(e.limits, constant)
	}
	bytes := strings.Join(factors, " * ")
	if bits != 8 {
		bytes = fmt.Sprintf("(%s * %d + 7) / 8", bytes, bits)
	}
	e.line("const uint64_t %s = %s;", size, bytes)
	return [2]string{start, size}
}
