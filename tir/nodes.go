package tir

import (
	"reflect"

	"tvmgo/internal/nodehook"
)

// NodeTypes returns the types of all nodes.
func NodeTypes() []*NodeType { return nodeTypes }

var nodeTypes []*NodeType // filled by newNodeType

// The row of a type of nodes gives its key in JSON, and what passes may take for granted of it: see [NodeType.Opaque].
var (
	varNode          = exprType[Var]("var", known)
	intImmNode       = exprType[IntImm]("int", known)
	floatImmNode     = exprType[FloatImm]("float", known)
	stringImmNode    = exprType[StringImm]("text", known)
	binaryNode       = exprType[Binary]("op", known)
	notNode          = exprType[Not]("not", known)
	selectNode       = exprType[Select]("select", known)
	castNode         = exprType[Cast]("cast", known)
	bufferLoadNode   = exprType[BufferLoad]("load", known)
	producerLoadNode = exprType[ProducerLoad]("", known)
	rampNode         = exprType[Ramp]("ramp", known)
	broadcastNode    = exprType[Broadcast]("broadcast", known)
	shuffleNode      = exprType[Shuffle]("shuffle", known)
	letNode          = exprType[Let]("let", known)
	callNode         = exprType[Call]("call", known)
	reduceNode       = exprType[Reduce]("", known)
	badNode          = exprType[Bad]("", known)
	bufferStoreNode  = stmtType[BufferStore]("store", known)
	forNode          = stmtType[For]("for", known)
	whileNode        = stmtType[While]("while", known)
	ifNode           = stmtType[If]("if", known)
	letStmtNode      = stmtType[LetStmt]("let", known)
	assertNode       = stmtType[Assert]("assert", known)
	allocNode        = stmtType[Alloc]("alloc", known)
	attrStmtNode     = stmtType[AttrStmt]("attr", known)
	seqNode          = stmtType[Seq]("", known)
	evaluateNode     = stmtType[Evaluate]("eval", known)
)

// TypeOf returns the type of a node, or nil if it is none that is described.
func TypeOf(node any) *NodeType {
	switch node.(type) {
	case *Var:
		return varNode
	case *IntImm:
		return intImmNode
	case *FloatImm:
		return floatImmNode
	case *StringImm:
		return stringImmNode
	case *Binary:
		return binaryNode
	case *Not:
		return notNode
	case *Select:
		return selectNode
	case *Cast:
		return castNode
	case *BufferLoad:
		return bufferLoadNode
	case *ProducerLoad:
		return producerLoadNode
	case *Ramp:
		return rampNode
	case *Broadcast:
		return broadcastNode
	case *Shuffle:
		return shuffleNode
	case *Let:
		return letNode
	case *Call:
		return callNode
	case *Reduce:
		return reduceNode
	case *Bad:
		return badNode
	case *BufferStore:
		return bufferStoreNode
	case *For:
		return forNode
	case *While:
		return whileNode
	case *If:
		return ifNode
	case *LetStmt:
		return letStmtNode
	case *Assert:
		return assertNode
	case *Alloc:
		return allocNode
	case *AttrStmt:
		return attrStmtNode
	case *Seq:
		return seqNode
	case *Evaluate:
		return evaluateNode
	}
	return otherType(node)
}

// others are the types of nodes that tests describe.
var others = map[reflect.Type]*NodeType{}

func otherType(node any) *NodeType {
	if len(others) == 0 {
		return nil
	}
	return others[reflect.TypeOf(node)]
}

func init() {
	nodehook.Describe = func(key string, isPure bool, make func() any) {
		of := opaque
		if isPure {
			of = pure
		}
		typ := reflect.TypeOf(make())
		t := newNodeType(typ.Elem(), key, of)
		if _, t.IsStmt = make().(Stmt); t.IsStmt {
			t.newStmt = func() Stmt { return make().(Stmt) }
		} else {
			t.newExpr = func() Expr { return make().(Expr) }
		}
		others[typ] = t
	}
}
