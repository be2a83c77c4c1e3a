// Package literate runs the code blocks of Markdown documents, so that no document can show code that fails.
//
// A document is read section by section; a section reaches from one heading of level 2 to the next. Its blocks run in
// their order, in one scratch directory and one shell per document. What a block is follows from the first words behind
// its fence:
//
//	```sh              a script of the shell; it must succeed
//	```sh norun        only its syntax is checked: what needs root, a network or a particular machine
//	```console         commands behind "$ ", each followed by what it prints; … stands for any text
//	```c main.c        a file of this name, in any language
//	```go, c, cpp      a part of the section's program
//	```tir             a program of package tir; it must parse and pass tir.Check
//	```json            valid JSON
//	```text            not checked
//
// The parts of a section in one language form one program, which is compiled, and runs where the last part stands. In
// Go, imports are found by the names of packages, and an error that is assigned to err and not looked at ends the
// program. A comment behind a call of Println or printf is the line that it must print. A comment of HTML that begins
// with a language is a block that readers do not see:
//
//	<!--sh
//	mkdir models
//	-->
package literate
