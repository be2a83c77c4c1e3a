package transform

import (
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// UseDynamicShared moves the shared memory of a kernel to scope "shared.dyn", whose size a launch specifies, if the
// kernel has more of it than a language can declare ([Language.StaticShared]), or part of it has that scope already.
func UseDynamicShared(l Language) Pass {
	return func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
		return mapBodies("use dynamic shared", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
			if l.StaticShared == 0 {
				return f.Body, nil
			}
			by := &tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
				loop, ok := s.(*tir.For)
				if !ok || loop.Kind != tir.ThreadBind {
					return s, false
				}
				return l.dynamicShared(loop), true
			}}
			return by.MutateStmt(f.Body), nil
		})
	}
}

// dynamicShared is UseDynamicShared for one kernel.
func (l *Language) dynamicShared(kernel *tir.For) tir.Stmt {
	bytes, dynamic := int64(0), false
	moved := map[*tir.Buffer]*tir.Buffer{}
	data := map[*tir.Var]bool{}
	tir.Walk(kernel, func(node any) bool {
		s, ok := node.(*tir.Alloc)
		if !ok || !isShared(s.Buffer.StorageScope()) {
			return true
		}
		if n := bytesOf(s.Buffer); n != unknownBytes {
			bytes = (bytes+15)/16*16 + n
		}
		dynamic = dynamic || s.Buffer.Scope == "shared.dyn"
		data[s.Buffer.Data] = true
		return true
	})
	if bytes <= l.StaticShared && !dynamic {
		return kernel
	}
	return replaceBuffers(kernel, func(b *tir.Buffer) *tir.Buffer {
		if b == nil || !data[b.Data] || b.Scope == "shared.dyn" {
			return b
		}
		if moved[b] == nil {
			c := *b
			c.Scope = "shared.dyn"
			moved[b] = &c
		}
		return moved[b]
	})
}

// replaceBuffers replaces the buffers of a statement.
func replaceBuffers(s tir.Stmt, with func(b *tir.Buffer) *tir.Buffer) tir.Stmt {
	same := func(v *tir.Var) *tir.Var { return v }
	named := func(node any) any {
		_, buffers := tir.Named(node)
		_, own := tir.Bound(node)
		if len(buffers)+len(own) == 0 {
			return node
		}
		return tir.Renamed(node, same, with)
	}
	return (&tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.BufferLoad); ok {
			return &tir.BufferLoad{Buffer: with(l.Buffer), Indices: l.Indices}
		}
		return named(e).(tir.Expr)
	}, Stmt: func(s tir.Stmt) tir.Stmt {
		switch s := s.(type) {
		case *tir.BufferStore:
			return &tir.BufferStore{Buffer: with(s.Buffer), Value: s.Value, Indices: s.Indices}
		case *tir.Alloc:
			return &tir.Alloc{Buffer: with(s.Buffer), Body: s.Body}
		case *tir.AttrStmt:
			if b, ok := s.Node.(*tir.Buffer); ok {
				return &tir.AttrStmt{Key: s.Key, Node: with(b), Value: s.Value, Body: s.Body}
			}
		default:
			return named(s).(tir.Stmt)
		}
		return s
	}}).MutateStmt(s)
}

// isTexture reports whether memory of a scope is an image, whose dimensions belong to the device.
func isTexture(scope string) bool {
	scope = strings.TrimPrefix(scope, "global.")
	return scope == "texture" || strings.HasPrefix(scope, "texture.") || strings.HasPrefix(scope, "texture-")
}
