package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"tvmgo/tir"
)

// readProgram reads a program, as text or JSON, and checks that it is one.
func readProgram(stdin io.Reader, path string) (*tir.IRModule, error) {
	var text []byte
	var err error
	name := path
	if path == "-" {
		name = "standard input"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	m := &tir.IRModule{}
	isJSON := bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	if isJSON {
		err = json.Unmarshal(text, m)
	} else {
		m, err = tir.Parse(string(text))
	}
	if err == nil {
		err = tir.Check(m)
	}
	if err != nil {
		return nil, located(name, text, isJSON, err)
	}
	if len(m.Funcs) == 0 {
		return nil, fmt.Errorf("%s: there is no function in it", name)
	}
	return m, nil
}

// located is an error of a program with the file, line and column that it is about, as far as they are known.
func located(name string, text []byte, isJSON bool, err error) error {
	var parse *tir.ParseError
	var read *tir.JSONError
	var syntax *json.SyntaxError
	var check *tir.Error
	switch {
	case errors.As(err, &parse):
		return fmt.Errorf("%s:%d:%d: %s", name, parse.Line, parse.Column, parse.Msg)
	case errors.As(err, &syntax):
		return fmt.Errorf("%s%s: %w", name, position(text, int(syntax.Offset)-1), err)
	case errors.As(err, &read):
		return fmt.Errorf("%s%s: %w", name, position(text, findPath(text, read.Path)), err)
	case errors.As(err, &check) && check.Func != "" && !isJSON:
		return fmt.Errorf("%s%s: %w", name, position(text, findFunction(text, check.Func)), err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// position is ":line:column" of a place in a text, columns in characters; "" of none.
func position(text []byte, offset int) string {
	if offset < 0 || offset > len(text) {
		return ""
	}
	before := text[:offset]
	return fmt.Sprintf(":%d:%d", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
}

// findFunction is where a function begins, -1 if that is not found.
func findFunction(text []byte, name string) int {
	spelled := `(?:` + regexp.QuoteMeta(name) + `|\$` + regexp.QuoteMeta(strconv.Quote(name)) + `)`
	at := regexp.MustCompile(`(?m)^[ \t]*(func)[ \t]+` + spelled + `[ \t]*\(`).FindSubmatchIndex(text)
	if at == nil {
		return -1
	}
	return at[2]
}

// findPath is where the value of a path such as $.funcs[0].name begins, -1 if that is not found.
func findPath(text []byte, path string) int {
	d := json.NewDecoder(bytes.NewReader(text))
	found := -1
	var walk func(here string) error
	walk = func(here string) error {
		at := int(d.InputOffset())
		t, err := d.Token()
		if err != nil {
			return err
		}
		if here == path {
			found = at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n:,"))
			return io.EOF
		}
		switch t {
		case json.Delim('{'):
			for d.More() {
				key, err := d.Token()
				if err != nil {
					return err
				}
				if err := walk(here + "." + key.(string)); err != nil {
					return err
				}
			}
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				if err := walk(here + "[" + strconv.Itoa(i) + "]"); err != nil {
					return err
				}
			}
		default:
			return nil
		}
		_, err = d.Token()
		return err
	}
	_ = walk("$")  // what can't be read further has no place
	if found < 0 { // a field that is missing: where its object is
		if up := strings.LastIndexAny(path, ".["); up > 0 && path != "$" {
			return findPath(text, path[:up])
		}
	}
	return found
}
