// Package path writes the paths to nodes in the messages of packages tir and tir/compare: main.body[0].for(i).body.
package path

import (
	"fmt"
	"strconv"
	"strings"
)

// Step is one step of a path from a function to a node within it: a name, or the place in a list.
type Step struct {
	Name  string
	Index int // -1: none
}

// At returns the step to a field.
func At(name string) Step { return Step{name, -1} }

// AtIndex returns the step to an element of a field that is a list.
func AtIndex(name string, index int) Step { return Step{name, index} }

// Text writes a path: main.body[0].for(i).body.value.a
func Text(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		if b.Len() > 0 && s.Name != "" {
			b.WriteByte('.')
		}
		b.WriteString(s.Name)
		if s.Index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		}
	}
	return b.String()
}

// Ends is how many steps an error says of each end of a long path.
const Ends = 16

// Short is the path of an error: of a long one the ends, so that the reason behind it is seen.
func Short(steps []Step) string {
	if len(steps) <= 2*Ends+1 {
		return Text(steps)
	}
	return fmt.Sprintf("%s…(%d more)….%s", Text(steps[:Ends]), len(steps)-2*Ends, Text(steps[len(steps)-Ends:]))
}
