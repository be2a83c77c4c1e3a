// Package inspect describes the contents of a shared library that TVM exported, without loading it: no code of the
// file runs, it needs no runtime and no driver, and the file may be for another machine.
//
//	report, err := inspect.File("add.so")
//	report.WriteText(os.Stdout)
//
// The exception lies with the caller: metadata and documentation of functions are code of the file, and who runs it can
// put what it gave into a report as [Description]s.
//
// What is read is what a dynamic linker reads: program headers, the dynamic segment and the symbols it names. The
// section table, which loaders ignore, is not trusted; that it is complete is the only thing asked of it.
//
// # Bad input
//
// A file that can't be a library at all is an error that says what it looks like and what to do. A library with damage
// inside gives a report with what could be read, and [Report.Problems]. Whatever the bytes, there is no panic, and
// memory stays within a small multiple of the file's size.
package inspect
