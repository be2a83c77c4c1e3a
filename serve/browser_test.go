package serve

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/chromium"
)

// The page of a server that wants tokens loads without one, shows the models with one, and computes.
func TestHandler_PageInBrowser(t *testing.T) {
	in := chromium.Start(t)
	s, url := start(t, func(o *Options) {
		o.Tokens = []string{"secret"}
		o.Model.MaxBatch = 8
	})
	b := chromium.Open(t, in, url, func(other string) bool { return strings.HasPrefix(other, url) })
	text := func(selector string) string {
		t.Helper()
		return strings.Join(strings.Fields(chromium.Eval[string](b, `document.querySelector("`+selector+`").innerText`)), " ")
	}
	b.Await(`!document.getElementById("login").hidden`)
	require.Equal(t, "there is no token: send the header Authorization: Bearer TOKEN", text("#token-why"))
	require.Equal(t, []string{"log Failed to load resource: the server responded with a status of 401 (Unauthorized)"},
		b.Notes())
	b.Run(chromedp.SendKeys("#token", "secret"+kb.Enter, chromedp.ByQuery))
	b.Await(`document.getElementById("login").hidden`)
	require.Equal(t, s.Server().Name+" "+s.Server().Version+" ready", text(".who"))
	card := text("#cards")
	require.Contains(t, card, "affine READY Try it cpu:0 1 instance batches up to 8 ")
	require.Contains(t, card, library)
	require.Contains(t, card, "in x FP32 ? × 4 out ")
	require.Contains(t, card, "Waiting 0 of 256 Running 0 Latency p50 – p90 – p99 –")

	b.Run(chromedp.Click(`[aria-label="ones for x"]`, chromedp.ByQuery), chromedp.Click("#send", chromedp.ByQuery))
	b.Await(`document.querySelector("#outputs pre")`)
	require.Contains(t, text("#outcome"), "HTTP 200 · ")
	require.Equal(t, "[[4, 4, 4, 4]]", text("#outputs pre"))
	b.Await(`/Latency p50 [\d.]+ [µm]?s p90 [\d.]+ [µm]?s p99 /.test(document.querySelector("#cards").innerText
		.replace(/\s+/g, " "))`)
	b.Quiet("a good request")

	b.Run(chromedp.SendKeys("#input-0-shape", kb.Backspace+"5", chromedp.ByQuery),
		chromedp.Click("#send", chromedp.ByQuery))
	b.Await(`document.querySelector("#outputs .error")`)
	require.Contains(t, text("#outcome"), "HTTP 400 · ")
	require.Contains(t, text("#outputs .error"), "dimension 1 must be 4")
}
