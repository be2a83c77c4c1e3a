// Package programfile reads a program from a file: of package tir in text or in JSON, or one that Apache TVM's
// tvm.ir.save_json has written. Errors name the file, and the line and column as far as they are known.
package programfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"unicode/utf8"

	"tvmgo/internal/atomicfile"
	"tvmgo/tir"
	tirjson "tvmgo/tir/json"
	"tvmgo/tir/text"
	"tvmgo/tir/tvmjson"
)

// maxProgram bounds the text of a program.
const maxProgram = 64 << 20

// Read reads and checks a program in text or JSON, ours or Apache TVM's. The path "-" is stdin.
func Read(stdin io.Reader, path string) (*tir.IRModule, error) {
	name, from := path, stdin
	if path == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
		}
		defer f.Close()
		from = f
	}
	source, err := io.ReadAll(io.LimitReader(from, maxProgram+1))
	if err == nil && len(source) > maxProgram {
		err = fmt.Errorf("it has more than %d MiB: that is no program", maxProgram>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, atomicfile.Cause(err))
	}
	var m *tir.IRModule
	isJSON := bytes.HasPrefix(bytes.TrimLeft(source, " \t\r\n"), []byte("{"))
	if isJSON && tvmjson.IsTVM(source) {
		m, err = tvmjson.Unmarshal(source)
	} else if isJSON {
		m, err = tirjson.Unmarshal(source)
	} else {
		m, err = text.Parse(string(source))
	}
	if err == nil {
		err = tir.Check(m)
	}
	if err != nil {
		return nil, located(name, source, isJSON, err)
	}
	if len(m.Funcs) == 0 {
		return nil, fmt.Errorf("%s: it has no functions", name)
	}
	return m, nil
}

// located adds the file, line and column to an error of a program, as far as they are known.
func located(name string, source []byte, isJSON bool, err error) error {
	var parse *text.ParseError
	var read *tirjson.Error
	var check *tir.Error
	switch {
	case errors.As(err, &parse):
		return fmt.Errorf("%s:%d:%d: %s", name, parse.Line, parse.Column, parse.Msg)
	case errors.As(err, &read):
		return fmt.Errorf("%s%s: %w", name, position(source, read.Offset), err)
	case errors.As(err, &check) && check.Func != "" && !isJSON:
		return fmt.Errorf("%s%s: %w", name, position(source, findFunction(source, check.Func)), err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// position formats the position of an offset in a text as ":line:column", where columns count characters; "" if there
// is none.
func position(text []byte, offset int) string {
	if offset < 0 || offset > len(text) {
		return ""
	}
	before := text[:offset]
	return fmt.Sprintf(":%d:%d", bytes.Count(before, []byte("\n"))+1,
		utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
}

// findFunction returns the offset of a function, or -1.
func findFunction(text []byte, name string) int {
	spelled := `(?:` + regexp.QuoteMeta(name) + `|\$` + regexp.QuoteMeta(strconv.Quote(name)) + `)`
	at := regexp.MustCompile(`(?m)^[ \t]*(func)[ \t]+` + spelled + `[ \t]*\(`).FindSubmatchIndex(text)
	if at == nil {
		return -1
	}
	return at[2]
}
