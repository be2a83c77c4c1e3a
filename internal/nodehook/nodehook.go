// Package nodehook lets tests define node types of package tir. With them, tests check how passes, the text and JSON
// forms, and code generators treat nodes that they do not know.
package nodehook

// Describe defines a node type. Package tir sets this variable; only init functions call it. make returns a pointer to
// a structure that embeds tir.Expr or tir.Stmt; tags describe its other exported fields as in package tir. key is the
// type's name in JSON. A pure node is an expression whose value depends on its operands alone.
var Describe func(key string, pure bool, make func() any)
