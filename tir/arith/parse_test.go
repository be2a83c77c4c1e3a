package arith

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// reader parses the expressions of the table of simplifications: // and %% round down, / and % towards zero.
type reader struct {
	t    *testing.T
	vars map[string]*tir.Var
	bufs map[string]*tir.Buffer
	s    string
}

var varTypes = map[string]tir.Type{"p": tir.Bool, "q": tir.Bool, "f": tir.Float32, "g": tir.Float32, "l": tir.Int64,
	"w": tir.Int64, "u": tir.UInt8,
	"v": tir.UInt32, "h": tir.Int8, "b": tir.UInt64}

func newReader(t *testing.T) *reader {
	return &reader{t: t, vars: map[string]*tir.Var{}, bufs: map[string]*tir.Buffer{}}
}

func (r *reader) read(s string) tir.Expr {
	r.s = s
	e := r.or()
	r.space()
	require.Empty(r.t, r.s, "rest of %s", s)
	if b, bad := e.(*tir.Bad); bad {
		require.NoError(r.t, b.Err, s)
	}
	return e
}

func (r *reader) variable(name string) *tir.Var {
	v := r.vars[name]
	if v == nil {
		t, ok := varTypes[name]
		if !ok {
			t = tir.Int32
		}
		v = tir.NewVar(name, t)
		r.vars[name] = v
	}
	return v
}

func (r *reader) space() { r.s = strings.TrimLeft(r.s, " ") }

func (r *reader) takes(tokens ...string) string {
	r.space()
	for _, t := range tokens {
		if strings.HasPrefix(r.s, t) {
			r.s = r.s[len(t):]
			return t
		}
	}
	return ""
}

func (r *reader) or() tir.Expr {
	e := r.and()
	for r.takes("||") != "" {
		e = tir.Or(e, r.and())
	}
	return e
}

func (r *reader) and() tir.Expr {
	e := r.comparison()
	for r.takes("&&") != "" {
		e = tir.And(e, r.comparison())
	}
	return e
}

func (r *reader) comparison() tir.Expr {
	e := r.sum()
	ops := map[string]tir.BinaryOp{"==": tir.OpEQ, "!=": tir.OpNE, "<=": tir.OpLE, ">=": tir.OpGE, "<": tir.OpLT,
		">": tir.OpGT}
	if t := r.takes("==", "!=", "<=", ">=", "<", ">"); t != "" {
		return tir.NewBinary(ops[t], e, r.sum())
	}
	return e
}

func (r *reader) sum() tir.Expr {
	e := r.term()
	for {
		switch r.takes("+", "-") {
		case "+":
			e = tir.Add(e, r.term())
		case "-":
			e = tir.Sub(e, r.term())
		default:
			return e
		}
	}
}

func (r *reader) term() tir.Expr {
	e := r.unary()
	ops := map[string]tir.BinaryOp{"//": tir.OpFloorDiv, "%%": tir.OpFloorMod, "*": tir.OpMul, "/": tir.OpDiv,
		"%": tir.OpMod}
	for {
		t := r.takes("//", "%%", "*", "/", "%")
		if t == "" {
			return e
		}
		e = tir.NewBinary(ops[t], e, r.unary())
	}
}

func (r *reader) unary() tir.Expr {
	if r.takes("!") != "" {
		return tir.NewNot(r.unary())
	}
	if r.takes("(") != "" {
		e := r.or()
		require.Equal(r.t, ")", r.takes(")"), r.s)
		return e
	}
	r.space()
	n := 0
	for n < len(r.s) && (r.s[n] == '-' && n == 0 ||
		strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._", r.s[n]) >= 0) {
		n++
	}
	word := r.s[:n]
	r.s = r.s[n:]
	require.NotEmpty(r.t, word, r.s)
	switch {
	case word == "true", word == "false":
		return tir.BoolConst(word == "true")
	case word[0] == '-' || word[0] >= '0' && word[0] <= '9':
		if strings.HasSuffix(word, "f") {
			v, err := strconv.ParseFloat(word[:n-1], 64)
			require.NoError(r.t, err)
			return tir.F32(float32(v))
		}
		v, err := strconv.ParseInt(word, 10, 64)
		require.NoError(r.t, err)
		if v != int64(int32(v)) {
			return tir.I64(v)
		}
		return tir.I32(int32(v))
	case r.takes("(") != "":
		return r.call(word, r.list(")"))
	case r.takes("[") != "":
		at := r.list("]")
		b := r.bufs[word]
		if b == nil {
			b = tir.NewBuffer(word, tir.Int32, tir.I32(64))
			r.bufs[word] = b
		}
		return tir.BufferAt(b, at...)
	}
	return r.variable(word)
}

func (r *reader) list(end string) (all []tir.Expr) {
	for {
		all = append(all, r.or())
		if r.takes(end) != "" {
			return all
		}
		require.Equal(r.t, ",", r.takes(","), r.s)
	}
}

func (r *reader) call(name string, x []tir.Expr) tir.Expr {
	lanes := func(e tir.Expr) int {
		v, ok := tir.IntValue(e)
		require.True(r.t, ok)
		return int(v)
	}
	switch name {
	case "min":
		return tir.Min(x[0], x[1])
	case "max":
		return tir.Max(x[0], x[1])
	case "select":
		return tir.NewSelect(x[0], x[1], x[2])
	case "ramp":
		return &tir.Ramp{Base: x[0], Stride: x[1], Lanes: lanes(x[2])}
	case "broadcast":
		return &tir.Broadcast{Value: x[0], Lanes: lanes(x[1])}
	case "let":
		return &tir.Let{Var: x[0].(*tir.Var), Value: x[1], Body: x[2]}
	case "extern":
		return tir.NewCall(tir.CallExtern, tir.Int32, "extern", x...)
	}
	types := map[string]tir.Type{"int64": tir.Int64, "int32": tir.Int32, "int8": tir.Int8, "uint8": tir.UInt8,
		"uint32": tir.UInt32, "uint64": tir.UInt64,
		"bool": tir.Bool, "float32": tir.Float32, "float64": tir.Float64, "float16": tir.Float16}
	for prefix, t := range types {
		if name == prefix {
			return tir.NewCast(t, x[0])
		}
		if name == "c"+prefix { // a constant of the type
			v, ok := tir.IntValue(x[0])
			require.True(r.t, ok, fmt.Sprint(x[0]))
			return tir.IntConst(t, v)
		}
	}
	return tir.Intrin(name, x...)
}
