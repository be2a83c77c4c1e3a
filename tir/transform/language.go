package transform

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// Language describes the language in which the kernels of a device are generated. [ForDevice] replaces what the
// language lacks by what it has, or rejects it before code is generated, so that an emitter needs no case for it.
type Language struct {
	Name string // in errors: "OpenCL C"

	// Types are the element types of values and memory. Empty: all for which IsLegal holds. A language without 64-bit
	// integers has 32-bit indices; programs with larger ones are rejected.
	Types []tir.Type

	// Native are the types of at most 16 bits with which kernels of a target compute as they are; nil: none. Sums,
	// differences, products and quotients of these types are rounded once, as if computed as float32. float16 and
	// bfloat16 are computed as float32 otherwise, and smaller types by [LegalizeTypes].
	Native func(t *target.Target) []tir.Type

	// Lanes are the numbers of lanes of vectors, in ascending order, and Elements the types of their elements. Stores
	// of other numbers of lanes are split into these. Vectors of other elements stay as they are: the emitter computes
	// them lane by lane.
	Lanes    []int
	Elements []tir.Type

	// VectorBits is the greatest number of bits of a vector; 0: any. Aligned says that a vector in memory must begin at
	// a multiple of its size: others are accessed element by element.
	VectorBits int
	Aligned    bool

	// Scopes are the storage scopes of buffers: "global" of parameters, others of memory that kernels allocate.
	Scopes []string

	// FixedShared says that shared memory has elements of one width: buffers whose elements have different widths do not
	// share it.
	FixedShared bool

	// StaticShared is the number of bytes of shared memory that a kernel can declare; with more, all of it is dynamic
	// ([UseDynamicShared]). 0: any number.
	StaticShared int64

	// Lacks are the intrinsics that kernels cannot call, each with the reason and a remedy.
	Lacks map[string]string

	// Fragments returns an error if kernels of a target cannot execute an intrinsic of fragments, and what takes it; nil:
	// no kernel can. Scopes contains those of fragments otherwise.
	Fragments func(t *target.Target, call *tir.FragmentCall) error

	// Last are passes of the language's own, for kernels. They run when everything else is lowered.
	Last []Step
}

// HasVector reports whether t is a vector type of the language.
func (l *Language) HasVector(t tir.Type) bool {
	return slices.Contains(l.Lanes, int(t.Lanes)) && slices.Contains(l.Elements, tir.Element(t)) &&
		(l.VectorBits == 0 || int(t.Lanes)*int(t.Bits) <= l.VectorBits)
}

// VerifyLanguage rejects kernels with a type, a storage scope or an intrinsic that a language lacks. It changes
// nothing.
func VerifyLanguage(l Language) Pass {
	return func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
		return mapFuncs("verify language", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
			return f, l.verify(f, targetOf(f, t))
		})
	}
}

// verify returns an error for the first part of a function that the language lacks.
func (l *Language) verify(f *tir.PrimFunc, t *target.Target) error {
	for _, p := range f.Params {
		b := f.Buffers[p]
		if err := l.verifyType(p.Type); err != nil {
			return fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		if b == nil {
			continue
		}
		if err := l.verifyBuffer(b); err != nil {
			return fmt.Errorf("parameter %s: %w", p.Name, err)
		}
	}
	var err error
	tir.WalkPaths(f, func(node any, path func() string) bool {
		if err != nil {
			return false
		}
		switch n := node.(type) {
		case *tir.Call:
			if reason, lacks := l.Lacks[n.Name]; lacks && n.Kind == tir.CallIntrinsic {
				err = fmt.Errorf("intrinsic %s: %s", n.Name, reason)
				break
			}
			if err = l.verifyType(n.Type); err == nil && tir.IsFragmentCall(n) {
				err = l.verifyFragments(t, n)
			}
		case tir.Stmt:
			_, buffers := tir.Bound(n)
			for _, b := range buffers {
				if err == nil {
					err = l.verifyBuffer(b)
				}
			}
		case tir.Expr:
			err = l.verifyType(n.DType())
		}
		if err != nil {
			err = fmt.Errorf("at %s: %w", path(), err)
		}
		return err == nil
	})
	return err
}

// verifyFragments returns an error if a call of an intrinsic of fragments is wrong, or the target lacks it.
func (l *Language) verifyFragments(t *target.Target, c *tir.Call) error {
	f, err := tir.DescribeFragmentCall(c)
	if err != nil {
		return err
	}
	if l.Fragments == nil {
		return fmt.Errorf("intrinsic %s: %s has no fragments", c.Name, l.Name)
	}
	if err := l.Fragments(t, f); err != nil {
		return fmt.Errorf("intrinsic %s: %w", c.Name, err)
	}
	return nil
}

func (l *Language) verifyType(t tir.Type) error {
	if len(l.Types) == 0 || t == tir.Void || tir.IsHandle(t) || slices.Contains(l.Types, tir.Element(t)) {
		return nil
	}
	return fmt.Errorf("%s has no type %s: it has %s", l.Name, tir.Element(t), joined(l.Types, tir.Type.String))
}

func (l *Language) verifyBuffer(b *tir.Buffer) error {
	if scope := b.StorageScope(); !slices.Contains(l.Scopes, scope) {
		if reason, lacks := l.Lacks["fragment_mma"]; lacks && tir.IsFragment(scope) {
			return fmt.Errorf("buffer %s in scope %q: %s", b.Name, scope, reason)
		}
		return fmt.Errorf("buffer %s in scope %q: %s has the scopes %s", b.Name, scope, l.Name,
			joined(l.Scopes, func(s string) string { return fmt.Sprintf("%q", s) }))
	}
	return l.verifyType(b.DType)
}

// joined formats a list of values for a sentence.
func joined[T any](list []T, text func(T) string) string {
	all := make([]string, len(list))
	for i, x := range list {
		all[i] = text(x)
	}
	return strings.Join(all, ", ")
}
