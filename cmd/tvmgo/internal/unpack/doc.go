// Package unpack writes the contents of a library as files, and lists the differences of two libraries. No code of
// the files runs; they may be for another machine.
//
//	summary, err := unpack.Unpack("add.so", "add", false)
//	report, err := unpack.Diff("old.so", "new.so")
//
// An unpacked folder has the blob as it is (library.bin), the code of each module in the form in which other tools take
// it, and tree.json ([Tree]), which says what belongs together. The folder is flat. Every payload can be built again
// from tree.json and the files that it names; where the natural form cannot hold something, a file of role payload
// has all of it.
//
// # Bad input
//
// Of a damaged library comes out what can be read, and the problems are named. Names in the library are not trusted:
// they become file names of ASCII letters and digits that differ on any system. Nothing is written outside the folder,
// through a link in it, or half: the files appear together, tree.json last.
package unpack
