package vmrun

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/wheel"
)

// wireValue returns a value in the form that testdata/wheel.py reads.
func wireValue(v Value) []any {
	switch v := v.(type) {
	case nil:
		return []any{"none"}
	case int64:
		return []any{"int", v}
	case bool:
		return []any{"bool", v}
	case float64:
		return []any{"float", hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))}
	case string:
		return []any{"string", v}
	case dlpack.DataType:
		return []any{"dtype", v.Code, v.Bits, v.Lanes}
	case Shape:
		return []any{"shape", append([]int64{}, v...)}
	case *Tensor:
		return []any{"tensor", v.DType.Code, v.DType.Bits, v.DType.Lanes, append([]int64{}, v.Shape...),
			hex.EncodeToString(v.Data())}
	case *Tuple:
		items := []any{}
		for _, item := range v.Items {
			items = append(items, wireValue(item))
		}
		return []any{"tuple", items}
	}
	panic("no argument or constant")
}

// wireProgram returns a program in the form that testdata/wheel.py reads.
func wireProgram(t testing.TB, p *Program) map[string]any {
	args := []any{}
	for _, a := range p.Args {
		args = append(args, wireValue(a))
	}
	file := must.Get(p.Exec.Encode(vmcode.FormOf(blob.Modern)))(t)
	return map[string]any{"executable": file, "args": args}
}

// peer is a process that runs programs on Apache TVM's machine.
type peer struct {
	t   testing.TB
	in  *json.Encoder
	out *json.Decoder
}

func startPeer(t testing.TB) *peer {
	cmd := wheel.Command(t, "testdata/wheel.py")
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &peer{t, json.NewEncoder(in), json.NewDecoder(out)}
}

// run returns the outcome of a program.
func (p *peer) run(program *Program) Outcome {
	require.NoError(p.t, p.in.Encode(wireProgram(p.t, program)))
	var line struct {
		Trace         []string
		Result, Error string
		Crash         int
	}
	require.NoError(p.t, p.out.Decode(&line))
	out := Outcome{Trace: line.Trace, Result: line.Result}
	if line.Error != "" {
		out.Err = errors.New(line.Error)
	}
	if line.Crash != 0 {
		out.Result = "TVM crashed"
	}
	return out
}

// comparable reports whether TVM defines what a program does: its machine has no limit of recursion.
func comparable(p *Program) (Outcome, bool) {
	out := p.Run()
	endless := errors.Is(out.Err, ErrDepth) || errors.Is(out.Err, ErrSteps)
	return out, out.Undefined == "" && out.Otherwise == "" && !endless
}

func TestWheel_RunsTheSamePrograms(t *testing.T) {
	seed, tvm := testseed.Of(t), startPeer(t)
	succeeded, failed, reports := 0, 0, 0
	for i := uint64(0); succeeded < 100 || failed < 40; i++ {
		p := Random(rand.New(rand.NewPCG(seed, i)))
		out, ok := comparable(p)
		if !ok {
			continue
		}
		if out.Err != nil {
			failed++
		} else {
			succeeded++
		}
		difference := out.Difference(tvm.run(p))
		if difference == "" {
			continue
		}
		small := p.Shrink(func(p *Program) bool {
			want, ok := comparable(p)
			return ok && want.Difference(tvm.run(p)) != ""
		})
		want, _ := comparable(small)
		t.Errorf("program %d: in TVM, %s\nsmaller: %s\n%s", i, difference, want.Difference(tvm.run(small)), small.Text())
		if reports++; reports == 4 {
			return
		}
	}
}
