// Package narrow replaces the types that no generator supports: integers of 1, 2 and 4 bits, and floats of at most
// 8 bits. They are computed in wider types, and rounded after each operation; memory keeps its layout, except that of
// the program itself. transform.LegalizeTypes is the pass.
package narrow

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// Legalize returns a function without narrow types, except those in native; f itself if it has none.
func Legalize(f *tir.PrimFunc, native []tir.Type) (*tir.PrimFunc, error) {
	l := &legalizer{native: native, vars: map[*tir.Var]tir.Expr{}, storage: map[*tir.Buffer]*narrowStorage{},
		own: map[*tir.Var]*tir.Buffer{}}
	if !l.usesNarrow(f) {
		return f, nil
	}
	return l.function(f)
}

// legal reports whether the generator of the function supports a type.
func (l *legalizer) legal(t tir.Type) bool {
	return IsLegal(t) || len(l.native) > 0 && slices.Contains(l.native, tir.Element(t))
}

// IsLegal reports whether generators support a type.
func IsLegal(t tir.Type) bool {
	switch {
	case t == tir.Void || tir.IsHandle(t) || tir.IsBool(t):
		return true
	case tir.IsInt(t):
		return t.Bits >= 8
	}
	return t.Bits >= 16
}

// usesNarrow reports whether a function has a part of a narrow type.
func (l *legalizer) usesNarrow(f *tir.PrimFunc) (found bool) {
	found = !l.legal(f.Result)
	for _, p := range f.Params {
		found = found || !l.legal(p.Type) || f.Buffers[p] != nil && !l.legal(f.Buffers[p].DType)
	}
	tir.Walk(f, func(node any) bool {
		switch n := node.(type) {
		case tir.Expr:
			found = found || !l.legal(n.DType())
		}
		vars, buffers := tir.Bound(node)
		for _, v := range vars {
			found = found || !l.legal(v.Type)
		}
		for _, b := range buffers {
			found = found || !l.legal(b.DType)
		}
		return !found
	})
	return found
}

// legalizer transforms one function.
type legalizer struct {
	native  []tir.Type // types of fewer than 16 bits that stay
	mutator tir.Mutator
	vars    map[*tir.Var]tir.Expr
	storage map[*tir.Buffer]*narrowStorage
	// by address: memory of the program whose elements occupy a byte each instead of a part of one
	own      map[*tir.Var]*tir.Buffer
	parallel bool // within a loop over several threads of a device
	err      error
}

func (l *legalizer) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

func (l *legalizer) function(f *tir.PrimFunc) (*tir.PrimFunc, error) {
	l.mutator = tir.Mutator{PreExpr: l.expr, PreStmt: l.stmt}
	g := *f
	g.Params = append([]*tir.Var{}, f.Params...)
	g.Result = l.wideType(f.Result)
	var bind []func(body tir.Stmt) tir.Stmt
	for i, p := range f.Params {
		if b := f.Buffers[p]; b != nil {
			if s := l.store(b, true); s != nil {
				bind = append(bind, func(body tir.Stmt) tir.Stmt { return tir.View(s.bytes, body) })
			}
			continue
		}
		if !l.legal(p.Type) {
			var enter func(tir.Stmt) tir.Stmt
			g.Params[i], enter = l.param(p)
			bind = append(bind, enter)
		}
	}
	g.Body = l.mutator.MutateStmt(f.Body)
	if g.Body == nil {
		g.Body = &tir.Seq{}
	}
	for i := len(bind) - 1; i >= 0; i-- {
		g.Body = bind[i](g.Body)
	}
	if l.err == nil { // an expression that could not be built
		tir.Walk(g.Body, func(node any) bool {
			if b, ok := node.(*tir.Bad); ok {
				l.fail("%w", b.Err)
			}
			return l.err == nil
		})
	}
	return &g, l.err
}

// param returns the parameter type in which a narrow number is passed; enter converts it to the type of the body's
// arithmetic.
func (l *legalizer) param(p *tir.Var) (*tir.Var, func(body tir.Stmt) tir.Stmt) {
	v := tir.NewVar(p.Name, l.wideType(p.Type))
	if tir.IsFloat(p.Type) {
		value := tir.NewVar(p.Name, v.Type)
		l.vars[p] = value
		rounded := narrowFloatOf(p.Type).round(v, realOf(p.Type))
		return v, func(body tir.Stmt) tir.Stmt { return &tir.LetStmt{Var: value, Value: rounded, Body: body} }
	}
	l.vars[p] = v
	least, greatest := int64(0), int64(1)<<p.Type.Bits-1
	if tir.IsSigned(p.Type) {
		least, greatest = -1<<(p.Type.Bits-1), 1<<(p.Type.Bits-1)-1
	}
	cond := tir.LE(v, constantLike(v, greatest))
	if tir.IsSigned(p.Type) {
		cond = tir.And(tir.GE(v, constantLike(v, least)), cond)
	}
	message := fmt.Sprintf("argument %s: want a number of type %s, from %d to %d", p.Name, p.Type, least, greatest)
	return v, func(body tir.Stmt) tir.Stmt {
		return tir.Sequence(&tir.Assert{Cond: cond, Kind: "ValueError", Message: message}, body)
	}
}

// wideType returns the type in which values of a type are computed.
func (l *legalizer) wideType(t tir.Type) tir.Type {
	if l.legal(t) {
		return t
	}
	return wideType(t)
}

// wideType is the same for a type that no language has.
func wideType(t tir.Type) tir.Type {
	lanes := int(t.Lanes)
	switch {
	case tir.IsFloat(t):
		return tir.Vector(realOf(t).float, lanes)
	case tir.IsSigned(t):
		return tir.Vector(tir.Int32, lanes)
	}
	return tir.Vector(tir.UInt32, lanes)
}

// fit converts a computed value back to the narrow type t.
func (l *legalizer) fit(t tir.Type, e tir.Expr) tir.Expr {
	switch {
	case l.legal(t):
		return e
	case tir.IsFloat(t):
		return narrowFloatOf(t).round(e, realOf(t))
	}
	return wrapInt(t, e)
}

// wrapInt returns a 32-bit integer modulo the width of t.
func wrapInt(t tir.Type, e tir.Expr) tir.Expr {
	low := bitsAnd(e, 1<<t.Bits-1)
	if !tir.IsSigned(t) {
		return low
	}
	sign := int64(1) << (t.Bits - 1)
	return tir.Sub(bitwise("bitwise_xor", low, sign), constantLike(e, sign))
}

// bindVar returns the variable that replaces one that a node binds.
func (l *legalizer) bindVar(v *tir.Var) *tir.Var {
	if l.legal(v.Type) {
		return v
	}
	w := tir.NewVar(v.Name, l.wideType(v.Type))
	l.vars[v] = w
	return w
}
