package relaxjson

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

const want = `main(x: f[n, 8] float32)
dataflow
  lv = relax.matmul(x, float32[8 4] of 128 bytes)
  lv1 = relax.nn.softmax(lv)
  lv2 = relax.split(lv1)
  lv3 = lv2[0]
  lv4 = relax.reshape(lv3, [n * 2])
  lv5 = relax.sum(lv4)
  lv6 = relax.call_tir(@compute, (lv4)) -> f[n * 2] float32
  lv7 = relax.add(lv6, lv5)
  gv = relax.astype(lv7)
  gv1 = lv1
return (gv, gv1)
checked(a: f? float32)
bind
  gv = a as f[m] float32
  gv1 = my.function(gv, "hint") -> f[m] float32
return gv1
`

// Files of three versions of TVM, and of the wheel, are the same module.
func TestUnmarshal_Versions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	cmd := wheel.Command(t, "testdata/model.py", path)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(wheel.Root(t), "build", ".cache", "ffi-json"))
	wheel.Output(t, cmd, nil)
	for _, file := range []string{path, "testdata/v0.17.json", "testdata/v0.25.json", "testdata/v0.27.json"} {
		m := must.Get(Unmarshal(must.Get(os.ReadFile(file))(t)))(t)
		require.NotEmpty(t, m.Version)
		require.NoError(t, tir.Check(m.Loops))
		require.Equal(t, "compute", m.Loops.Funcs[0].Name)
		functions := map[string]*Function{}
		for _, f := range m.Functions {
			functions[f.Name] = f
		}
		checked := strings.NewReplacer("gv2", "gv", "gv3", "gv1").Replace(print(functions["checked"]))
		// the size is an element of the tuple, or an argument after it
		main := strings.NewReplacer("(lv4, n)", "(lv4)", "(lv4), [n])", "(lv4))").Replace(print(functions["main"]))
		require.Equal(t, want, main+checked, file)
		steps := functions["main"].Body.(*Seq).Blocks[0].Bindings
		attrs := func(i int) Attrs { return steps[i].Value.(*Call).Attrs }
		require.Equal(t, "relax.attrs.SoftmaxAttrs", attrs(1).Kind())
		require.Equal(t, int64(-1), attrs(1).Int("axis"))
		require.Equal(t, tir.Void, attrs(0).DType("out_dtype"))
		require.Equal(t, []int64{2}, attrs(2).Ints("indices_or_sections"))
		require.Equal(t, []int64{0}, attrs(5).Ints("axis"))
		require.True(t, attrs(5).Bool("keepdims"))
		require.Equal(t, tir.Float16, attrs(8).DType("dtype"))
		require.False(t, attrs(8).Has("axis"))
		require.Len(t, functions["main"].Result.(*TupleType).Fields, 2)
		require.Same(t, steps[0].Var, steps[1].Value.(*Call).Args[0])
	}
}

// A truncated file is an error, and so is one whose constant is not there.
func TestUnmarshal_Errors(t *testing.T) {
	for _, file := range []string{"testdata/v0.17.json", "testdata/v0.25.json", "testdata/v0.27.json"} {
		data := must.Get(os.ReadFile(file))(t)
		for n := 0; n < len(data); n += len(data) / 100 {
			require.Error(t, must.Fail(Unmarshal(data[:n])))
		}
		short := strings.Replace(string(data), `P6G0lvBAXt0AAAAA`, `P6G0lvBA`, 1)
		require.ErrorContains(t, must.Fail(Unmarshal([]byte(short))), "constant", file)
		odd := strings.Replace(string(data), "relax.expr.DataflowBlock", "relax.expr.Magic", 1)
		require.ErrorContains(t, must.Fail(Unmarshal([]byte(odd))), "(relax.expr.Magic): want a block of bindings", file)
		odd = strings.ReplaceAll(string(data), "relax.expr.ShapeExpr", "relax.expr.Magic")
		require.ErrorContains(t, must.Fail(Unmarshal([]byte(odd))), "not supported: node relax.expr.Magic at ", file)
	}
}

func print(f *Function) string {
	var b strings.Builder
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + ": " + typeText(p.Type)
	}
	fmt.Fprintf(&b, "%s(%s)\n", f.Name, strings.Join(params, ", "))
	body := f.Body.(*Seq)
	for _, block := range body.Blocks {
		b.WriteString(map[bool]string{true: "dataflow\n", false: "bind\n"}[block.Dataflow])
		for _, x := range block.Bindings {
			fmt.Fprintf(&b, "  %s = %s", x.Var.Name, exprText(x.Value))
			if x.Match != nil {
				b.WriteString(" as " + typeText(x.Match))
			}
			b.WriteString("\n")
		}
	}
	return b.String() + "return " + exprText(body.Body) + "\n"
}

func list(exprs []Expr) string {
	texts := make([]string, len(exprs))
	for i, e := range exprs {
		texts[i] = exprText(e)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func dims(exprs []tir.Expr) string {
	texts := make([]string, len(exprs))
	for i, e := range exprs {
		texts[i] = strings.ReplaceAll(strings.ReplaceAll(text.Print(e), "int64(", ""), ")", "")
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func typeText(t Type) string {
	x := t.(*TensorType)
	if x.Dims == nil {
		return "f? " + x.DType.String()
	}
	return "f" + dims(x.Dims) + " " + x.DType.String()
}

func exprText(e Expr) string {
	switch e := e.(type) {
	case *Var:
		return e.Name
	case *Op:
		return e.Name
	case *Extern:
		return e.Name
	case *Global:
		return "@" + e.Name
	case *Text:
		return fmt.Sprintf("%q", e.Value)
	case *Tuple:
		return list(e.Fields)
	case *Item:
		return fmt.Sprintf("%s[%d]", exprText(e.Tuple), e.Index)
	case *Constant:
		return fmt.Sprintf("%s%v of %d bytes", e.Value.DType, e.Value.Shape, len(e.Value.Data))
	case *Shape:
		return dims(e.Dims)
	case *Prim:
		return text.Print(e.Value)
	case *Call:
		s := exprText(e.Callee) + list(e.Args)
		for _, t := range e.TypeArgs {
			s += " -> " + typeText(t)
		}
		return s
	}
	return fmt.Sprintf("%T", e)
}
