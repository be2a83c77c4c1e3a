package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/chromium"
)

// open opens a page with a report.
func open(t *testing.T, in context.Context, r *bench.Report, before ...chromedp.Action) *chromium.Tab {
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, []byte(htmlPage(t, r)), 0o666))
	return chromium.Open(t, in, "file://"+file, func(url string) bool { return url == "file://"+file }, before...)
}

// eval returns the value of an expression in the page.
func eval[T any](b *chromium.Tab, expression string) T {
	return chromium.Eval[T](b, expression)
}

// Reports of every kind make no request, no message, no dialog, and never scroll sideways, at 360 and at 1280 pixels.
func TestHTML_AnyReport(t *testing.T) {
	in := chromium.Start(t)
	for name, r := range edges() {
		b := open(t, in, r)
		for _, size := range []int64{360, 1280} {
			b.Run(chromedp.EmulateViewport(size, 800))
			got := eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`)
			require.LessOrEqual(t, got[0], got[1], "%s at %d", name, size)
			eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
			got = eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`)
			require.LessOrEqual(t, got[0], got[1], "%s at %d with all details", name, size)
		}
		require.Equal(t, 1, eval[int](b, `document.scripts.length`), name)
		require.Zero(t, eval[int](b, `document.querySelectorAll("img, b b, iframe, link").length`), name)
		require.Zero(t, eval[int](b, `[...document.querySelectorAll("*")].filter((e) => [...e.attributes]
			.some((a) => a.name.startsWith("on") || a.value.startsWith("javascript:"))).length`), name)
		levels := eval[[]int](b, `[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((h) => Number(h.tagName[1]))`)
		require.Equal(t, 1, levels[0], name)
		for i := 1; i < len(levels); i++ {
			require.LessOrEqual(t, levels[i], levels[i-1]+1, "%s: a heading is skipped", name)
			require.Greater(t, levels[i], 1, name)
		}
		require.Zero(t, eval[int](b, `(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
			return ids.length - new Set(ids).size; })()`), "%s: ids occur twice", name)
		require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("[href^='#']")].map((a) => a.getAttribute("href"))
			.filter((h) => !document.getElementById(h.slice(1)))`), "%s: links without a target", name)
		require.NotContains(t, eval[string](b, `document.body.innerText`), "NaN", name)
		b.Quiet(name)
	}
}

// All texts have a contrast of at least 4.5 in light and in dark mode.
func TestHTML_Contrast(t *testing.T) {
	in := chromium.Start(t)
	grounds := map[string]bool{}
	for _, mode := range []string{"light", "dark"} {
		for _, name := range []string{"example", "6 devices"} {
			b := open(t, in, edges()[name], chromium.Scheme(mode))
			got := chromium.Contrasts(b)
			require.Empty(t, got.Found, "%s, %s", name, mode)
			require.Greater(t, got.Texts, 500)
			grounds[got.Ground] = true
		}
	}
	require.Len(t, grounds, 2, "light and dark differ")

	b := open(t, in, one(), chromium.Scheme("light"))
	const ground = `getComputedStyle(document.body).backgroundColor`
	light := eval[string](b, ground)
	require.Equal(t, "Dark mode", eval[string](b, `document.getElementById("theme").textContent`))
	b.Run(chromedp.Click("#theme", chromedp.ByQuery))
	dark := eval[string](b, ground)
	require.NotEqual(t, light, dark)
	require.Empty(t, chromium.Contrasts(b).Found)
	require.Eventually(t, func() bool { // the browser stores the choice later
		b.Run(chromedp.Reload())
		return eval[string](b, ground) == dark
	}, time.Minute, time.Millisecond, "the choice is remembered")
	b.Run(chromium.Scheme("dark"), chromedp.Click("#theme", chromedp.ByQuery))
	require.Equal(t, light, eval[string](b, ground))
	b.Quiet("theme")
}

// column returns the values by which a column of the table is sorted, or its texts.
func column(b *chromium.Tab, i int) []string {
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#table tbody tr:not([hidden])")]
		.map((r) => r.cells[%d].dataset.v ?? r.cells[%[1]d].textContent.trim())`, i))
}

func TestHTML_Table(t *testing.T) {
	b := open(t, chromium.Start(t), example())
	numbers := func(i int) (list []float64) {
		for _, s := range column(b, i) {
			var v float64
			if json.Unmarshal([]byte(s), &v) != nil {
				require.Empty(t, s)
				v = -1 // no value
			}
			list = append(list, v)
		}
		return list
	}
	sorted := func(list []float64, down bool) {
		t.Helper()
		require.Len(t, list, 118)
		for i := 1; i < len(list) && list[i] >= 0; i++ {
			require.True(t, list[i] >= list[i-1] != down || list[i] == list[i-1], "%v then %v", list[i-1], list[i])
		}
		require.GreaterOrEqual(t, list[0], 0.0, "rows without a value are last")
		require.Equal(t, -1.0, list[len(list)-1])
	}
	const state = `[...document.querySelectorAll("#table thead th")].map((h) => h.ariaSort)[8]`
	head := `#table thead th:nth-child(9) button` // p50: 9 before 10
	require.Equal(t, "none", eval[string](b, state))
	b.Run(chromedp.Click(head, chromedp.ByQuery))
	require.Equal(t, "ascending", eval[string](b, state))
	sorted(numbers(8), false)
	b.Run(chromedp.Focus(head, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "descending", eval[string](b, state))
	sorted(numbers(8), true)
	b.Run(chromedp.KeyEvent(" "))
	require.Equal(t, "ascending", eval[string](b, state))
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#table [aria-sort=ascending]").length`))
	b.Run(chromedp.Click(`#table thead th:nth-child(7) button`)) // ×: 0.0389 before 0.04
	sorted(numbers(6), false)
	b.Run(chromedp.Click(`#table thead th:nth-child(1) button`))
	names := column(b, 0)
	require.Less(t, index(names, "matmul-f32-512"), index(names, "matmul-f32-1024"), "names by their numbers, too")

	b.Run(chromedp.SendKeys("#filter", "MATMUL vulkan:0", chromedp.ByQuery))
	require.Len(t, column(b, 0), 5)
	require.Equal(t, "5 of 118 rows", eval[string](b, `document.getElementById("shown").textContent`))
	b.Run(chromedp.SendKeys("#filter", " nothing", chromedp.ByQuery))
	require.Empty(t, column(b, 0))
	require.Equal(t, "sticky", eval[string](b, `getComputedStyle(document.querySelector("#table thead th")).position`))
	b.Quiet("table")
}

func index(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}

// The Tab key reaches every control once, beginning with the link that skips to the results.
func TestHTML_Keyboard(t *testing.T) {
	b := open(t, chromium.Start(t), example())
	eval[any](b, `window.reached = []; document.addEventListener("focusin", (e) => window.reached.push(e.target)); 0`)
	want := eval[int](b, `(window.want = [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")]
		.filter((e) => e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }))).length`)
	require.Greater(t, want, 60)
	require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("a[href]:not(.pt), button, input, summary, .scroll")]
		.filter((e) => e.tabIndex !== 0).map((e) => e.outerHTML.slice(0, 120))`), "every control, in the order of the page")
	for range want {
		b.Run(chromedp.KeyEvent(kb.Tab))
	}
	require.Empty(t, eval[[]string](b, `want.filter((e) => !reached.includes(e)).map((e) => e.outerHTML.slice(0, 120))`))
	require.Equal(t, "skip", eval[string](b, `reached[0].className`))
	require.Zero(t, eval[int](b, `reached.slice(0, want.length).filter((e, i, all) => i > 0 &&
		!(all[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)).length`), "from top to bottom")
	require.Equal(t, 1, eval[int](b, `reached.filter((e) => e.matches(".pt")).length`), "the roofline is one stop")
	first := eval[string](b, `document.querySelector(".wide .pt").focus(), document.activeElement.ariaLabel`)
	b.Run(chromedp.KeyEvent(kb.ArrowRight))
	second := eval[string](b, `document.activeElement.ariaLabel`)
	require.NotEqual(t, first, second)
	require.Equal(t, second, eval[string](b, `document.getElementById("detail").textContent`))
	require.Equal(t, "solid", eval[string](b, `(() => { const s = document.querySelector("summary"); s.focus();
		return getComputedStyle(s).outlineStyle; })()`), "the focus is visible")
	b.Quiet("keyboard")
}

// Pictures, tables and regions have names in the accessibility tree.
func TestHTML_AccessibleNames(t *testing.T) {
	b := open(t, chromium.Start(t), example())
	eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
	count := map[string]int{}
	for _, n := range b.Accessible() {
		switch n.Role {
		case "img", "image", "table", "region", "navigation", "button", "link", "textbox", "searchbox", "article":
			require.NotEmpty(t, n.Name, "a node of role %s", n.Role)
			count[n.Role]++
		case "group":
			if strings.HasPrefix(n.Name, "Roofline") {
				count["roofline"]++
			}
		}
	}
	require.Equal(t, 1, count["roofline"], "%v", count)
	require.Greater(t, count["image"]+count["img"], 140, "%v", count)
	require.Greater(t, count["table"], 80, "%v", count)
	require.Zero(t, eval[int](b, `[...document.querySelectorAll("svg")].filter((s) => !s.parentElement.closest("svg") &&
		!s.ariaLabel && s.getAttribute("aria-hidden") !== "true").length`))
}

// Without scripts the page has every row and picture, and no control that does nothing. It can be printed.
func TestHTML_WithoutScriptsAndOnPaper(t *testing.T) {
	b := open(t, chromium.Start(t), example(), emulation.SetScriptExecutionDisabled(true))
	require.Equal(t, 118, eval[int](b, `document.querySelectorAll("#table tbody tr").length`))
	require.Zero(t, eval[int](b, `[...document.querySelectorAll("button, input")].filter((e) => e.checkVisibility())
		.length`))
	require.NotZero(t, eval[int](b, `document.querySelectorAll(".wide .pt title").length`))
	eval[any](b, `document.querySelector("summary").click()`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("details[open]").length`))
	var pdf []byte
	b.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = cdppage.PrintToPDF().Do(ctx)
		return err
	}))
	require.Equal(t, "%PDF", string(pdf[:4]))
	b.Run(emulation.SetEmulatedMedia().WithMedia("print"))
	require.Equal(t, "none", eval[string](b, `getComputedStyle(document.querySelector(".sections")).display`))
	require.Equal(t, "visible", eval[string](b, `getComputedStyle(document.querySelector(".tall")).overflow`))
	b.Run(chromedp.EmulateViewport(718, 1000)) // A4 between Chromium's margins
	require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("table")].filter((e) => e.offsetWidth > 718)
		.map((e) => e.offsetWidth + " " + e.caption.textContent)`), "tables that paper cuts off")
	b.Run(emulation.SetEmulatedMedia().WithMedia("").WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}}))
	require.Equal(t, "auto", eval[string](b, `getComputedStyle(document.documentElement).scrollBehavior`))
	b.Quiet("without scripts")
}
