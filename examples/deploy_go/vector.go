package main

import (
	"bytes"
	"net/http"
	"strconv"
)

// vector is a JSON array of numbers that fit into a float32. Unlike []float32, it rejects null, and checks the length
// before it allocates.
type vector []float32

// UnmarshalJSON reads an array; the decoder has checked that it is valid JSON.
func (v *vector) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' {
		return bad(http.StatusBadRequest, "%.20q is not an array of numbers", text)
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	*v = nil
	if len(text) == 0 {
		return nil
	}
	n := bytes.Count(text, []byte(",")) + 1
	if n > maxLength {
		return bad(http.StatusRequestEntityTooLarge, "an array of %d elements: send at most %d", n, maxLength)
	}
	values := make(vector, 0, n)
	for piece := range bytes.SplitSeq(text, []byte(",")) {
		piece = bytes.TrimSpace(piece)
		x, err := strconv.ParseFloat(string(piece), 32)
		if err != nil {
			return bad(http.StatusBadRequest, "element %d is %.20q, not a number that fits a float32", len(values), piece)
		}
		values = append(values, float32(x))
	}
	*v = values
	return nil
}
