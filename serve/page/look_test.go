package page_test

import (
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/chromium"
)

var pictures = flag.String("pictures", "", "the folder into which TestPage_Look writes pictures of the page")

// The page can be read and never scrolls sideways, in light and in dark, on wide and on narrow screens.
func TestPage_Look(t *testing.T) {
	in := chromium.Start(t)
	grounds := map[string]bool{}
	for _, mode := range []string{"light", "dark"} {
		s := serve(t, models(), "/")
		s.infer = func(w http.ResponseWriter, _ *http.Request) {
			list := make([]float64, 1000)
			for i := range list {
				list[i] = float64((i*7919)%1009)/1009 - 0.25
			}
			writeJSON(w, 200, object{"model_name": "mlp", "model_version": "1", "outputs": []object{
				{"name": "y", "datatype": "FP32", "shape": []int{2, 4}, "data": list[:8]},
				{"name": "scores", "datatype": "FP32", "shape": []int{1, 1000}, "data": list}}})
		}
		b := open(in, s, chromium.Scheme(mode))
		b.click(`[aria-label="Send a request to mlp"]`)
		b.send()
		require.True(t, b.shown("#result"))
		b.click("#curl")
		b.Await(`document.getElementById("note").textContent !== ""`)
		grounds[b.look(mode)] = true

		s.edit(func() {
			s.infer = func(w http.ResponseWriter, _ *http.Request) {
				fail(w, 400, "input \"x\": the shape [2 4] has 8 elements, but the data has 7")
			}
			s.status["ready"] = false
		})
		b.write("#input-0-data", "[1, 2, 3")
		b.send()
		b.write("#input-0-data", "[1, 2, 3, 4, 5, 6, 7]")
		b.send()
		b.poll()
		b.Notes() // the browser logs the status 400
		b.look(mode + "-error")

		s.edit(func() { s.token = "secret" })
		b.poll()
		require.True(t, b.shown("#login"))
		b.Notes()
		b.look(mode + "-locked")
	}
	require.Len(t, grounds, 2, "light and dark differ")
}

// Names and reasons without spaces break where they must.
func TestPage_LongNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	status := models()
	status["server"] = object{"name": long, "version": long}
	in := []object{tensor(long, "FP32", -1, 1234567, 1234567, 1234567, 1234567)}
	status["models"] = []object{{"name": long, "state": "READY", "reason": long, "file": long, "devices": []string{long},
		"capacity": 1 << 40, "queue": 1 << 40, "running": 1 << 40, "metadata": metadata(long, in, in)}}
	s := serve(t, status, "/")
	s.infer = func(w http.ResponseWriter, _ *http.Request) { fail(w, 400, long) }
	b := open(chromium.Start(t), s)
	b.write("#input-0-shape", "1")
	b.click("#curl")
	b.Await(`document.getElementById("note").textContent !== ""`)
	b.fits("long names")
	b.send()
	b.fits("a long error")
	b.write("#input-0-data", long)
	b.click("#send")
	b.fits("a long problem")
}

// fits checks that a page does not scroll sideways.
func (b *tab) fits(name string) {
	for _, size := range []int64{320, 390, 768, 1024, 1440} {
		b.Run(chromedp.EmulateViewport(size, 900))
		b.sideways(name, size)
	}
}

func (b *tab) sideways(name string, size int64) {
	got := chromium.Eval[[]int](b.Tab, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`)
	require.LessOrEqual(b.s.t, got[0], got[1], "%s at %d", name, size)
}

// look checks the page as it is, and returns its colour.
func (b *tab) look(name string) (ground string) {
	t := b.s.t
	for _, size := range []int64{320, 390, 768, 1024, 1440} {
		b.Run(chromedp.EmulateViewport(size, 900))
		b.sideways(name, size)
		c := chromium.Contrasts(b.Tab)
		require.Empty(t, c.Found, "%s at %d", name, size)
		require.Greater(t, c.Texts, 80)
		ground = c.Ground
		if size == 390 || size == 1440 {
			b.picture(name + map[int64]string{390: "-phone", 1440: ""}[size])
		}
	}
	b.Quiet(name)
	return ground
}
