// Package unpack writes the contents of a library as files, and lists the differences of two libraries. No code of
// the files runs; they may be for another machine.
//
//	summary, err := unpack.Unpack("add.so", "add", false)
//	report, err := unpack.Diff("old.so", "new.so")
//
// An unpacked folder contains the unchanged blob (library.bin), the code of each module in the form that other tools
// read, and tree.json ([Tree]), which describes how the files belong together. There are no subfolders. Each payload
// can be rebuilt from tree.json and the files that it names. If the natural file form loses something, a file of role
// payload contains the whole payload.
//
// # Bad input
//
// If a library is damaged, the readable part is written, and the problems are named. Names in the library are not
// trusted: file names consist of ASCII letters and digits and differ on all file systems. Nothing is written outside
// the folder or through a link in it. The files appear together, tree.json last.
package unpack
