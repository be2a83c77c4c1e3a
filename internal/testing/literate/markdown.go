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
	Line   int    // of its first line of code, from 1
	Lang   string // the first word behind the fence
	Word   string // the second: the name of a file, norun, or nothing
	Text   string // ends in a newline, without the indentation of the fence
	Hidden bool   // in a comment of HTML
}

// Section is what stands between two headings of level 2.
type Section struct {
	Title  string
	Blocks []Block
}

// Link is a reference to another document or to a part of one.
type Link struct {
	Line   int
	Target string
}

// Document is a text in Markdown.
type Document struct {
	Path     string
	Sections []Section
	Links    []Link
	Anchors  map[string]bool // of its headings, as GitHub makes them
	Prose    []string        // the lines; those of code are empty
}

var (
	fence   = regexp.MustCompile("^( *)```+ *(.*)$")
	comment = regexp.MustCompile(`^( *)<!--(sh|console|go|c|cpp|tir|json)( [^ ]+)?$`)
	heading = regexp.MustCompile(`^(#{1,6}) +(.*?) *$`)
	link    = regexp.MustCompile(`\]\(\s*([^()\s]+)\s*\)`)
	code    = regexp.MustCompile("`[^`\n]*`")
)

// Read reads a document. Its path is kept as it is.
func Read(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(text))
}

// Parse reads the text of a document.
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

// anchor adds the anchor of a heading; the second of the same name ends in -1.
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

// Code has the text of each visible block in a language that is no file, in the order of the document.
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
