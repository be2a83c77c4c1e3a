package literate

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
)

// Block is a block of code.
type Block struct {
	Line   int    // number of the first line of code, from 1
	Lang   string // the first word after the fence
	Word   string // the second word: a file name, norun, long, or empty
	Text   string // with a final newline, without the indentation of the fence
	Hidden bool   // in an HTML comment
}

// Section is the text between two headings of level 2.
type Section struct {
	Title  string
	Blocks []Block
}

// Link is a reference to a document or to a part of one.
type Link struct {
	Line   int
	Target string
}

// Document is a Markdown document.
type Document struct {
	Path     string
	Sections []Section
	Links    []Link
	Anchors  map[string]bool // of the headings, as on GitHub
	Prose    []string        // the lines; empty for those of code
}

var (
	fence   = regexp.MustCompile("^( *)```+ *(.*)$")
	comment = regexp.MustCompile(`^( *)<!--(sh|console|go|c|cpp|tir|json)( [^ ]+)?$`)
	heading = regexp.MustCompile(`^(#{1,6}) +(.*?) *$`)
	link    = regexp.MustCompile(`\]\(\s*([^()\s]+)\s*\)`)
	code    = regexp.MustCompile("`[^`\n]*`")
)

// Read reads a document. It keeps the path as it is.
func Read(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(text))
}

// Parse parses the text of a document.
func Parse(path, text string) (*Document, error) {
	d := &Document{Path: path, Sections: []Section{{}}, Anchors: map[string]bool{}}
	var open *Block
	var indent, end string
	for i, line := range strings.Split(text, "\n") {
		if open != nil {
			d.Prose = append(d.Prose, "")
			if strings.TrimSpace(line) == end {
				s := &d.Sections[len(d.Sections)-1]
				s.Blocks = append(s.Blocks, *open)
				open = nil
			} else {
				open.Text += strings.TrimPrefix(line, indent) + "\n"
			}
			continue
		}
		if m := fence.FindStringSubmatch(line); m != nil {
			words := append(strings.Fields(m[2]), "", "")
			open, indent, end = &Block{Line: i + 2, Lang: words[0], Word: words[1]}, m[1], "```"
			d.Prose = append(d.Prose, "")
			continue
		}
		if m := comment.FindStringSubmatch(line); m != nil {
			open, indent, end = &Block{Line: i + 2, Lang: m[2], Word: strings.TrimSpace(m[3]), Hidden: true}, m[1], "-->"
			d.Prose = append(d.Prose, "")
			continue
		}
		d.Prose = append(d.Prose, line)
		if m := heading.FindStringSubmatch(line); m != nil {
			d.anchor(m[2])
			if len(m[1]) == 2 {
				d.Sections = append(d.Sections, Section{Title: m[2]})
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: this block has no end", path, open.Line-1)
	}
	prose := code.ReplaceAllString(strings.Join(d.Prose, "\n"), "``")
	for _, m := range link.FindAllStringSubmatchIndex(prose, -1) {
		d.Links = append(d.Links, Link{Line: 1 + strings.Count(prose[:m[0]], "\n"), Target: prose[m[2]:m[3]]})
	}
	return d, nil
}

// anchor adds the anchor of a heading; a repeated one gets the suffix -1.
func (d *Document) anchor(title string) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
	for k := 0; ; k++ {
		next := name
		if k > 0 {
			next = fmt.Sprintf("%s-%d", name, k)
		}
		if !d.Anchors[next] {
			d.Anchors[next] = true
			return
		}
	}
}

// Code returns the text of each visible block in a language that is not a file, in order.
func (d *Document) Code(lang string) (list []string) {
	for i := range d.Sections {
		for _, b := range d.Sections[i].ofLang(lang) {
			if !b.Hidden {
				list = append(list, b.Text)
			}
		}
	}
	return list
}
