// Package needscgo fails to compile without cgo, with a message that says what is missing. Packages over the core in C
// import it.
package needscgo
