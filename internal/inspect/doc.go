// Package inspect describes the contents of a shared library that TVM exported, without loading it: no code of the
// file runs, it needs no runtime and no driver, and the file may be for another machine.
//
//	report, err := inspect.File("add.so")
//	report.WriteText(os.Stdout)
//
// Metadata and documentation of functions are the exception: functions of the file return them. A caller that executes
// these can add the results to a report as [Description]s.
//
// It reads what a dynamic linker reads: program headers, the dynamic segment, and the symbols. The section table, which
// loaders ignore, is not trusted. It is only checked for being complete.
//
// # Bad input
//
// A file that is no library is an error that says what it seems to be, with a remedy. If a library is damaged, the
// report has what could be read, and [Report.Problems]. No bytes cause a panic, and memory stays within a small
// multiple of the file's size.
package inspect
