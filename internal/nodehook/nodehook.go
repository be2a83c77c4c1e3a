// Package nodehook lets tests describe types of nodes of their own to package tir, so that they see what passes, the
// text and JSON forms, and code generators make of nodes that they do not know.
package nodehook

// Describe makes a type of nodes known to package tir, which sets it. The type is that of what make returns: a pointer
// to a structure that embeds tir.Expr or tir.Stmt, and whose other exported fields are described by tags as those of
// package tir. Its key is its name in JSON. A pure one is an expression whose value depends on its parts alone. It is
// called by init functions only.
var Describe func(key string, pure bool, make func() any)
