package tir

// NodeTypes returns the types of all nodes.
func NodeTypes() []*NodeType { return nodeTypes }

var nodeTypes []*NodeType // filled by newNodeType

var (
	varNode          = exprType[Var]("var")
	intImmNode       = exprType[IntImm]("int")
	floatImmNode     = exprType[FloatImm]("float")
	stringImmNode    = exprType[StringImm]("text")
	binaryNode       = exprType[Binary]("op")
	notNode          = exprType[Not]("not")
	selectNode       = exprType[Select]("select")
	castNode         = exprType[Cast]("cast")
	bufferLoadNode   = exprType[BufferLoad]("load")
	producerLoadNode = exprType[ProducerLoad]("")
	rampNode         = exprType[Ramp]("ramp")
	broadcastNode    = exprType[Broadcast]("broadcast")
	shuffleNode      = exprType[Shuffle]("shuffle")
	letNode          = exprType[Let]("let")
	callNode         = exprType[Call]("call")
	reduceNode       = exprType[Reduce]("")
	badNode          = exprType[Bad]("")
	bufferStoreNode  = stmtType[BufferStore]("store")
	forNode          = stmtType[For]("for")
	whileNode        = stmtType[While]("while")
	ifNode           = stmtType[If]("if")
	letStmtNode      = stmtType[LetStmt]("let")
	assertNode       = stmtType[Assert]("assert")
	allocNode        = stmtType[Alloc]("alloc")
	attrStmtNode     = stmtType[AttrStmt]("attr")
	seqNode          = stmtType[Seq]("")
	evaluateNode     = stmtType[Evaluate]("eval")
)

// TypeOf returns the type of a node, or nil if it is not a node of this package.
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
	return nil
}
