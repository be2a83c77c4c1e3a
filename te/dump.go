package te

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// dump writes an expression of sizes and indices for an error's text.
func dump(e tir.Expr) string {
	switch e := e.(type) {
	case *tir.Var:
		return e.Name
	case *tir.IntImm:
		return fmt.Sprint(e.Value)
	case *tir.Cast:
		return dump(e.Value)
	case *tir.Binary:
		switch e.Op {
		case tir.OpFloorDiv, tir.OpFloorMod, tir.OpMin, tir.OpMax:
			return fmt.Sprintf("%s(%s, %s)", e.Op, dump(e.A), dump(e.B))
		case tir.OpAdd, tir.OpSub:
			return strings.TrimSuffix(fmt.Sprintf("%s %s %s", dump(e.A), e.Op, dump(e.B)), " ")
		}
		return fmt.Sprintf("(%s)%s(%s)", dump(e.A), e.Op, dump(e.B))
	}
	return fmt.Sprintf("an expression of type %s", e.DType())
}
