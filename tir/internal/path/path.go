// Package path writes the paths to nodes in the messages of packages tir and tir/compare: main.body[0].for(i).body.
package path

import (
	"fmt"
	"strconv"
	"strings"
)

// Step is one step of a path from a function to a node within it: a name, or an index in a list.
type Step struct {
	Name  string
	Index int // -1: none
}

// At returns the step to a field.
func At(name string) Step { return Step{name, -1} }

// AtIndex returns the step to an element of a field that is a list.
func AtIndex(name string, index int) Step { return Step{name, index} }

// Text returns a path as text: main.body[0].for(i).body.value.a
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

// Ends is the number of steps at each end of a long path that an error shows.
const Ends = 16

// Short returns the path for an error; of a long path it shows both ends, so that the message after it stays visible.
func Short(steps []Step) string {
	if len(steps) <= 2*Ends+1 {
		return Text(steps)
	}
	return fmt.Sprintf("%s…(%d more)….%s", Text(steps[:Ends]), len(steps)-2*Ends, Text(steps[len(steps)-Ends:]))
}
