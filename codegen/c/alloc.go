package c

import (
	"fmt"
	"math/bits"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
)

// alloc writes an allocation and its statement.
func (w *writer) alloc(s *tir.Alloc) {
	b := s.Buffer
	if b.Data == nil || b.DType.Lanes != 1 {
		w.fail("allocation of buffer %s of type %s: it needs an address, and elements of one lane", b.Name, b.DType)
		return
	}
	if b.Offset != nil {
		w.fail("allocation of buffer %s has an offset, which is for parts of other memory", b.Name)
		return
	}
	w.nameable("buffer "+b.Name, b.DType)
	element := w.storageType(b.DType)
	size := int64(b.DType.Bits+7) / 8
	count, constant := constantCount(b)
	if count < 0 || count > 1<<40 {
		w.fail("allocation of buffer %s has %d elements", b.Name, count)
		return
	}
	scope := ""
	if w.kernels {
		if !constant {
			w.fail("the size of buffer %s in scope %q is not constant: it is part of a kernel: compute tiles of a constant size",
				b.Name, b.StorageScope())
			return
		}
		if w.hooks.Scope != nil {
			var err error
			if scope, err = w.hooks.Scope(b.StorageScope()); err != nil {
				w.fail("allocation of buffer %s: %w", b.Name, err)
				return
			}
		}
		if scope != "" {
			scope += " "
		}
	} else if sc := b.StorageScope(); sc != "global" && sc != "local" {
		w.fail("allocation of buffer %s in scope %q: the CPU has \"global\" and \"local\"", b.Name, sc)
		return
	}
	if b.Alignment < 0 || b.Alignment > 0 && (bits.OnesCount(uint(b.Alignment)) != 1 || b.Alignment > 4096) {
		w.fail("allocation of buffer %s: alignment %d: want a power of two up to 4096", b.Name, b.Alignment)
		return
	}
	name := w.define(b.Data)
	w.types[b.Data] = element
	_, away := deviceOf(w.fn.PrimFunc)
	if w.kernels || constant && count*size <= stackLimit(b) && !away {
		align := ""
		if b.Alignment > int(size) && !w.kernels {
			align = fmt.Sprintf(" __attribute__((aligned(%d)))", b.Alignment)
		}
		declared := ""
		if w.kernels && w.hooks.Alloc != nil {
			declared = w.hooks.Alloc(w.fn.PrimFunc, b, element, name)
		}
		if declared == "" {
			declared = fmt.Sprintf("%s%s %s[%d]%s;", scope, element, name, max(count, 1), align)
		}
		w.line("%s", declared)
		if !w.fn.read[b.Data] { // compilers warn about memory that is only written
			w.line("(void)%s;", name)
		}
		w.stmt(s.Body)
		return
	}
	w.workspace(s, name, element, size)
}

// stackLimit is the largest size of a buffer on the stack, in bytes. It is larger in scope local, because compilers
// keep such buffers in registers.
func stackLimit(b *tir.Buffer) int64 {
	if b.StorageScope() == "local" {
		return LocalLimit
	}
	return StackLimit
}

// workspaceAlignment is the alignment of the runtime's workspaces.
const workspaceAlignment = 64

// workspace writes an allocation of the runtime's memory, which is freed at the end of the statement, and if anything
// inside it fails.
func (w *writer) workspace(s *tir.Alloc, name, element string, size int64) {
	b := s.Buffer
	if b.Alignment > workspaceAlignment {
		w.fail("allocation of buffer %s is aligned to %d bytes: scratch memory is to %d", b.Name, b.Alignment,
			workspaceAlignment)
		return
	}
	bytes := w.temp(name + "_bytes")
	w.snippet("grow")
	what := w.self() + ", " + abi.Literal("allocation of "+name)
	if b.Strides != nil {
		count := w.temp(name + "_count")
		w.snippet("span")
		w.line("uint64_t %s = 1;", count)
		for i, e := range b.Shape {
			n, step := w.expr(e), w.expr(b.Strides[i])
			w.line("if (tvmgo_span(&%s, %s, %s, %s, %d) != 0) %s", count, n.text, step.text, what, i, w.leaving("-1"))
		}
		w.line("uint64_t %s = %d;", bytes, size)
		w.line("if (tvmgo_grow(&%s, (int64_t)%s, %s, 0) != 0) %s", bytes, count, what, w.leaving("-1"))
	} else {
		w.line("uint64_t %s = %d;", bytes, size)
		for i, e := range b.Shape {
			n := w.expr(e)
			w.line("if (tvmgo_grow(&%s, %s, %s, %d) != 0) %s", bytes, n.text, what, i, w.leaving("-1"))
		}
	}
	place := "kDLCPU, 0"
	if device, away := deviceOf(w.fn.PrimFunc); away {
		if w.deviceID == "" {
			w.fail("allocation of buffer %s for a device: attribute device_id around it is to say which", b.Name)
			return
		}
		place = fmt.Sprintf("%d, %s", device, w.deviceID)
	}
	w.line("%s* const %s = TVMBackendAllocWorkspace(%s, %s, %d, %d);", element, name, place, bytes, b.DType.Code,
		b.DType.Bits)
	w.line("if (%s == NULL) %s", name, w.leaving("-1"))
	outer := w.leave
	own := &cleanup{label: w.labels.pick("free_" + name)}
	w.leave = own
	w.usesRC = true
	w.stmt(s.Body)
	w.leave = outer
	if own.used {
		w.out.depth--
		w.line("%s:", own.label)
		w.out.depth++
	}
	w.line("if (TVMBackendFreeWorkspace(%s, %s) != 0 && rc == 0) rc = -1;", place, name)
	switch {
	case outer != nil:
		outer.used = true
		w.line("if (rc != 0) goto %s;", outer.label)
	case w.mayReturn:
		w.line("if (rc != 0) return rc == TVMGO_RETURNED ? 0 : rc;")
	default:
		w.line("if (rc != 0) return rc;")
	}
}

// constantCount returns the number of elements that a buffer spans; false if it is not constant.
func constantCount(b *tir.Buffer) (int64, bool) {
	count := int64(1)
	for i, e := range b.Shape {
		n, ok := e.(*tir.IntImm)
		if !ok {
			return 0, false
		}
		if b.Strides != nil {
			s, ok := b.Strides[i].(*tir.IntImm)
			if !ok {
				return 0, false
			}
			if n.Value == 0 {
				return 0, true
			}
			count += (n.Value - 1) * s.Value
			continue
		}
		if n.Value < 0 || n.Value > 1<<40 || count > 1<<40 {
			return -1, true
		}
		count *= n.Value
	}
	return count, true
}
