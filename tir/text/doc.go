// Package text prints programs of package tir ([Print]) and parses them ([Parse], [ParseExpr]). In a program that
// imports this package, the String methods of modules and functions of package tir work, too.
package text
