package custom

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"tvmgo/export/pack"
	"tvmgo/internal/launch"
	"tvmgo/runtime"
)

// extents returns the sizes of a launch that the signature computes from the arguments, in the order of its tags; those
// that are arguments themselves stand behind the arguments already. idle says that one of them is 0.
func extents(sig *pack.Signature, list []*argument) (more []any, idle bool, err error) {
	known := sizes{}
	for i, p := range sig.Params {
		if !p.Tensor {
			known.bind(p, i, list[i])
		}
	}
	for i, p := range sig.Params {
		known.bind(p, i, list[i])
	}
	next := len(sig.Params)
	for _, l := range sig.Launch {
		if l.Expr == nil {
			more = append(more, list[next].value)
			next++
			continue
		}
		n, err := known.eval(l.Expr)
		if err != nil {
			return nil, false, fmt.Errorf("%s of %s: %w", l.Tag, sig.Name, err)
		}
		if !n.IsInt64() || n.Sign() < 0 || n.Int64() > math.MaxUint32 {
			return nil, false, fmt.Errorf("%s of %s is %v: it goes from 0 to %d", l.Tag, sig.Name, n, uint32(math.MaxUint32))
		}
		more, idle = append(more, n.Int64()), idle || n.Sign() == 0
	}
	return more, idle, nil
}

// launchOf returns the sizes of a launch by their tags.
func launchOf(sig *pack.Signature, sizes []any) (c runtime.LaunchConfig) {
	for i, l := range sig.Launch {
		n, _ := sizes[i].(int64)
		axis := strings.IndexByte("xyz", l.Tag[len(l.Tag)-1])
		switch {
		case strings.HasPrefix(l.Tag, "threadIdx.") && axis >= 0:
			c.Block[axis] = int(n)
		case strings.HasPrefix(l.Tag, "blockIdx.") && axis >= 0:
			c.Grid[axis] = int(n)
		case launch.Canonical(l.Tag) == launch.SharedMemory:
			c.SharedBytes = int(n)
		}
	}
	return c
}

// sizesOf returns the values of the names in a signature.
func sizesOf(sig *pack.Signature, list []*argument) map[string]int64 {
	known := sizes{}
	for i, p := range sig.Params {
		known.bind(p, i, list[i])
	}
	values := map[string]int64{}
	for name, v := range known {
		values[name] = v.value
	}
	return values
}

// eval computes an expression of a signature.
func (s sizes) eval(e *pack.Expr) (*big.Int, error) {
	switch {
	case e.Op == "" && e.Name == "":
		return big.NewInt(e.Value), nil
	case e.Op == "":
		v, known := s[e.Name]
		if !known {
			return nil, fmt.Errorf("the value of %s is not known", e.Name)
		}
		return big.NewInt(v.value), nil
	}
	a, err := s.eval(e.Args[0])
	if err != nil {
		return nil, err
	}
	b, err := s.eval(e.Args[1])
	if err != nil {
		return nil, err
	}
	out := new(big.Int)
	switch e.Op {
	case "+":
		return out.Add(a, b), nil
	case "-":
		return out.Sub(a, b), nil
	case "*":
		return out.Mul(a, b), nil
	case "min", "max":
		if (a.Cmp(b) < 0) == (e.Op == "min") {
			return a, nil
		}
		return b, nil
	}
	if b.Sign() == 0 {
		return nil, fmt.Errorf("%s divides by zero", e)
	}
	switch e.Op {
	case "/":
		return out.Quo(a, b), nil
	case "%":
		return out.Rem(a, b), nil
	case "ceildiv":
		rest := new(big.Int)
		if out.QuoRem(a, b, rest); rest.Sign() != 0 && rest.Sign() == b.Sign() {
			out.Add(out, big.NewInt(1))
		}
		return out, nil
	}
	return nil, fmt.Errorf("the operator %q is unknown", e.Op)
}
