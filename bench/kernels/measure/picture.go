package main

import (
	"bytes"
	"fmt"
	"html"
)

// Sizes of a picture in pixels.
const (
	rowHeight = 28
	labels    = 160 // the width of the names
	unit      = 400 // the length of a bar of speed 1
)

// picture draws the speed of each row as a bar. A line marks the speed of the base.
func picture(title string, rows []row) []byte {
	var b bytes.Buffer
	height := (len(rows) + 2) * rowHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="13">`+"\n"+`<text x="8" y="20">%s: speed relative to the base</text>`+"\n", labels+2*unit, height,
		html.EscapeString(title))
	for i, r := range rows {
		y := (i + 1) * rowHeight
		text := r.Missing
		if r.Base != "" {
			text = fmt.Sprintf("%.2f of %s", r.Speed, r.Base)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.0f" height="%d" fill="#4a78b0"/>`+"\n", labels, y+4,
				min(r.Speed, 1.5)*unit, rowHeight-10)
		}
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text><text x="%.0f" y="%d">%s</text>`+"\n", y+18, html.EscapeString(r.Case),
			labels+6+min(r.Speed, 1.5)*unit, y+18, html.EscapeString(text))
	}
	fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="black"/>`+"\n</svg>\n", labels+unit, rowHeight,
		labels+unit, height-rowHeight)
	return b.Bytes()
}
