package target

// Op is an operation of a graph. Its name refers to its result, or to all results if it has several.
type Op struct {
	Name   string   // unique in the graph
	Kind   string   // what it computes: "matmul"
	Inputs []string // in the order of its arguments: names of operations or of inputs of the graph
	// other properties, such as "dtype", by names that the creator of the graph and the predicates agree on
	Attrs map[string]any
}

// Graph is a set of operations, in any order, that use each other's results. Package target/partition divides it among
// the members of a composite target.
type Graph struct {
	Ops     []Op
	Inputs  []string // values from outside; nil: all names that are not operations
	Outputs []string // operations whose results are wanted, in addition to those that no operation uses
}

// Predicate reports whether a target supports an operation, and the reason for either answer. [ColumnPartitioner] of
// the target's kind holds it. The operation is a copy whose attributes must not be changed. Several goroutines may call
// it.
type Predicate func(t *Target, op *Op) (takes bool, reason string)

// Strategy divides a graph among the members of a composite target. [ColumnStrategy] of the target's kind holds it. The
// graph is a copy, in which each operation follows those that it uses. The answer names every operation once, with a
// member whose predicate accepts it. Several goroutines may call it.
type Strategy func(g *Graph, t *Target) ([]Assignment, error)

// Assignment is the decision of a Strategy for one operation.
type Assignment struct {
	Op     string // the operation's name
	Member int    // index in the target's Members
	Reason string
}
