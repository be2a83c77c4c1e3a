package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	tirtext "tvmgo/tir/text"
)

// The 50 functions of row build-50 differ in more than their names, so that none can share the code of another.
func TestMixed_AreDifferent(t *testing.T) {
	c := must.Get(target.New("c"))(t)
	bodies := map[string]bool{}
	for k := range int32(50) {
		m := must.Get(lower(c, operator{name: "f", build: func() ([]*te.Tensor, *te.Tensor) { return mixed(k) }}))(t)
		bodies[tirtext.Print(m)] = true
	}
	require.Len(t, bodies, 50)
}

func TestCompileTime_Unknown(t *testing.T) {
	for _, row := range []string{"mixed-ccc", "", "-cc"} {
		require.EqualError(t, must.Fail(compileTime(row)), fmt.Sprintf("there is no program %s", row))
	}
}
