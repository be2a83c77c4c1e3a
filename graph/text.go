package graph

import (
	"strings"

	"tvmgo/tir"
)

// shapeText prints a shape: [n, 8].
func shapeText(shape []tir.Expr) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = printed(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
