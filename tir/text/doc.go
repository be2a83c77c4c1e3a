// Package text prints programs of package tir ([Print]) and parses them ([Parse], [ParseExpr]). A program that contains
// this package prints modules and functions with their String methods, too.
package text
