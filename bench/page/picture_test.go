package page_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench/page"
)

// Every report has a picture, the same one each time: SVG that is well-formed, with texts and marks, and PNG.
func TestPictures(t *testing.T) {
	for name, r := range edges() {
		var a, b, c bytes.Buffer
		require.NoError(t, page.SVG(&a, r), name)
		require.NoError(t, page.SVG(&b, r), name)
		require.Equal(t, a.String(), b.String(), name)
		words := ""
		for d := xml.NewDecoder(bytes.NewReader(a.Bytes())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			if s, ok := token.(xml.CharData); ok {
				words += string(s)
			}
			if e, ok := token.(xml.StartElement); ok {
				require.NotEqual(t, "script", e.Name.Local)
			}
		}
		require.NotContains(t, a.String(), "NaN", name)
		switch name {
		case "example":
			for _, want := range []string{"Roofline", "matmul-f32-8192", "kernels, GFLOPS, more is better",
				"vulkan:0: Example"} {
				require.Contains(t, words, want)
			}
			require.NotContains(t, words, "not shown")
		case "nothing", "no rows", "failed":
			require.Contains(t, words, "Nothing was measured.")
		case "500 rows":
			require.Contains(t, words, "50 more cases are not shown.")
		}
		require.Equal(t, 1, strings.Count(a.String(), "<svg"), name)
		if name == "500 rows" {
			continue // the same code: PNG takes longest
		}
		require.NoError(t, page.PNG(&c, r), name)
		first := bytes.Clone(c.Bytes())
		im, err := png.Decode(&c)
		require.NoError(t, err, name)
		require.Greater(t, im.Bounds().Dx(), 1600, name)
		if name == "example" {
			var again bytes.Buffer
			require.NoError(t, page.PNG(&again, r))
			require.True(t, bytes.Equal(first, again.Bytes()))
		}
	}
}
