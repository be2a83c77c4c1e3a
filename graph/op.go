package graph

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tvmgo/te"
	"tvmgo/tir"
)

// Op is an operator.
type Op struct {
	Name  string // in lower case, words separated by _
	Attrs []Attr
	// In and Out are the numbers of operands and results: at least the first, at most the second; -1 is any number.
	In, Out [2]int
	// Compute returns the results for the operands of a call. It must depend on nothing else, and make the same formulas
	// for the same call. It reports errors by tensors that carry them, or by Call.Fail.
	Compute func(c *Call) []*te.Tensor
	// View says that the result has the elements of the first operand in the same order: the code may share its memory.
	View bool
	// Apart says that the operator is not fused with others.
	Apart bool
	// Control is the way in which an operator without Compute is executed.
	Control Control
}

// Control is the kind of an operator that is no formula.
type Control int

// The kinds of control.
const (
	Formula  Control = iota // computed by Op.Compute
	Elements                // reads the elements of a tensor on the host, so that sizes may depend on them
	If                      // executes one of two bodies
	Loop                    // repeats a body
	Loops                   // calls a function of package tir (Node.Kernel)
)

var registry struct {
	sync.RWMutex
	ops map[string]*Op
}

// Register adds operators to the table. An operator of the same name is an error.
func Register(ops ...*Op) error {
	registry.Lock()
	defer registry.Unlock()
	if registry.ops == nil {
		registry.ops = map[string]*Op{}
	}
	for _, op := range ops {
		if op.Name == "" || registry.ops[op.Name] != nil {
			return fmt.Errorf("register operator %q: the name is empty or taken: choose another one", op.Name)
		}
		if (op.Compute == nil) == (op.Control == Formula) {
			return fmt.Errorf("register operator %q: set one of Compute and Control", op.Name)
		}
		registry.ops[op.Name] = op
	}
	return nil
}

// LookupOp returns the operator of a name, or nil.
func LookupOp(name string) *Op {
	registry.RLock()
	defer registry.RUnlock()
	return registry.ops[name]
}

// OpNames returns the names of all operators, sorted.
func OpNames() []string {
	registry.RLock()
	defer registry.RUnlock()
	var names []string
	for name := range registry.ops {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check returns an error if the operator does not take these operands and attributes.
func (op *Op) check(n *Node) error {
	if err := checkCount("operands", len(n.Inputs), op.In); err != nil {
		return err
	}
	for i, v := range n.Inputs {
		if v == nil && i < op.In[0] {
			return fmt.Errorf("operand %d is missing: the operator needs %d", i, op.In[0])
		}
	}
	for name, value := range n.Attrs {
		at := slices.IndexFunc(op.Attrs, func(a Attr) bool { return a.Name == name })
		if at < 0 {
			return fmt.Errorf("attribute %q does not exist: the operator has %s", name, op.attrNames())
		}
		if err := op.Attrs[at].check(value); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the name of the attribute that is a list of sizes; "" if there is none.
func (op *Op) sizes() string {
	for _, a := range op.Attrs {
		if _, ok := a.Default.([]tir.Expr); ok {
			return a.Name
		}
	}
	return ""
}

func (op *Op) attrNames() string {
	if len(op.Attrs) == 0 {
		return "none"
	}
	var names []string
	for _, a := range op.Attrs {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

func checkCount(what string, n int, bounds [2]int) error {
	switch {
	case n < bounds[0]:
		return fmt.Errorf("%d %s are given: want at least %d", n, what, bounds[0])
	case bounds[1] >= 0 && n > bounds[1]:
		return fmt.Errorf("%d %s are given: want at most %d", n, what, bounds[1])
	}
	return nil
}
