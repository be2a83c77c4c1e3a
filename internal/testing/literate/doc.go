// Package literate runs the code blocks of Markdown documents, so that no document can show code that fails.
//
// A document is read in sections; a section extends from one heading of level 2 to the next. Its blocks run in order,
// in one scratch directory and one shell per document. The first words after the fence determine the kind of a block:
//
//	```sh              a script of the shell; it must succeed
//	```sh norun        only its syntax is checked: what needs root, a network or a particular machine
//	```sh long         the same, unless TVMGO_TEST_ALL is set: what takes minutes
//	```console         commands after "$ ", each followed by what it prints; … stands for any text
//	```c main.c        a file of this name, in any language
//	```go, c, cpp      a part of the section's program
//	```tir             a program of package tir; it must parse and pass tir.Check
//	```json            valid JSON
//	```text            not checked
//
// The parts of a section in one language form one program, which is compiled, and runs at the position of the last
// part. In Go, packages are imported by their names, and an error that is assigned to err and not used ends the
// program. A comment after a call of Println or printf is the line that it must print. An HTML comment that begins with
// a language is a block that readers do not see:
//
//	<!--sh
//	mkdir models
//	-->
package literate
