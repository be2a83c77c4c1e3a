package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/bench"
)

// browser starts Chromium without a window for a test; it is skipped, or on CI fails, if there is none.
func browser(t *testing.T) context.Context {
	path := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		const why = "no chromium-headless-shell: install it, or run build/scripts/deps.sh"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // ends a hang
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.ModifyCmdFunc(endsWithItsChildren))
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Run(ctx))
	return ctx
}

// endsWithItsChildren makes a program that is killed take its children with it: the browser may be a shell script's.
func endsWithItsChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// tab is a page with a report in a browser, which notes what a page must not do.
type tab struct {
	t    *testing.T
	ctx  context.Context
	url  string
	lock sync.Mutex
	bad  []string
}

func open(t *testing.T, in context.Context, r *bench.Report, before ...chromedp.Action) *tab {
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, []byte(htmlPage(t, r)), 0o666))
	ctx, cancel := chromedp.NewContext(in)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, url: "file://" + file}
	chromedp.ListenTarget(ctx, func(event any) {
		note := ""
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			note = fmt.Sprintf("console %s", e.Type)
		case *runtime.EventExceptionThrown:
			note = "exception " + e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			note = "log " + e.Entry.Text
		case *network.EventRequestWillBeSent:
			if e.Request.URL != b.url {
				note = "request " + e.Request.URL
			}
		case *cdppage.EventJavascriptDialogOpening:
			note = "dialog " + e.Message
		}
		if note != "" {
			b.lock.Lock()
			b.bad = append(b.bad, note)
			b.lock.Unlock()
		}
	})
	b.run(append([]chromedp.Action{network.Enable(), log.Enable()}, before...)...)
	b.run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.url))
	return b
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// eval returns the value of an expression in the page.
func eval[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v))
	return v
}

func (b *tab) quiet(name string) {
	b.t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	require.Empty(b.t, b.bad, name)
}

func scheme(name string) chromedp.Action {
	feature := emulation.MediaFeature{Name: "prefers-color-scheme", Value: name}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{&feature})
}

// contrasts lists texts with a contrast below 4.5 to their background, in all details.
const contrasts = `(() => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
    return [255, 255, 255, 1];
  };
  const found = [], seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || seen.has(e) || ["SCRIPT", "STYLE", "title"].includes(e.tagName)) continue;
    seen.add(e);
    const s = getComputedStyle(e), c = parse(e instanceof SVGElement ? s.fill : s.color), g = ground(e);
    if (c[3] !== 1 || g[3] !== 1) found.push("transparent: " + n.data.trim());
    const [x, y] = [light(c), light(g)].sort((a, b) => b - a);
    if ((x + 0.05) / (y + 0.05) < 4.5) found.push(((x + 0.05) / (y + 0.05)).toFixed(2) + " " + n.data.trim());
  }
  return { found: found.slice(0, 10), texts: seen.size, ground: ground(document.body).join(" ") };
})()`

type contrast struct {
	Found  []string
	Texts  int
	Ground string
}

// Reports of every kind make no request, no message, no dialog, and never scroll sideways, at 360 and at 1280 pixels.
func TestHTML_AnyReport(t *testing.T) {
	in := browser(t)
	for name, r := range edges() {
		b := open(t, in, r)
		for _, size := range []int64{360, 1280} {
			b.run(chromedp.EmulateViewport(size, 800))
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
		b.quiet(name)
	}
}

// All texts have a contrast of at least 4.5 in light and in dark mode.
func TestHTML_Contrast(t *testing.T) {
	in := browser(t)
	grounds := map[string]bool{}
	for _, mode := range []string{"light", "dark"} {
		for _, name := range []string{"example", "6 devices"} {
			b := open(t, in, edges()[name], scheme(mode))
			got := eval[contrast](b, contrasts)
			require.Empty(t, got.Found, "%s, %s", name, mode)
			require.Greater(t, got.Texts, 500)
			grounds[got.Ground] = true
		}
	}
	require.Len(t, grounds, 2, "light and dark differ")

	b := open(t, in, one(), scheme("light"))
	const ground = `getComputedStyle(document.body).backgroundColor`
	light := eval[string](b, ground)
	require.Equal(t, "Dark mode", eval[string](b, `document.getElementById("theme").textContent`))
	b.run(chromedp.Click("#theme", chromedp.ByQuery))
	dark := eval[string](b, ground)
	require.NotEqual(t, light, dark)
	require.Empty(t, eval[contrast](b, contrasts).Found)
	require.Eventually(t, func() bool { // the browser stores the choice later
		b.run(chromedp.Reload())
		return eval[string](b, ground) == dark
	}, time.Minute, time.Millisecond, "the choice is remembered")
	b.run(scheme("dark"), chromedp.Click("#theme", chromedp.ByQuery))
	require.Equal(t, light, eval[string](b, ground))
	b.quiet("theme")
}

// column returns the values by which a column of the table is sorted, or its texts.
func (b *tab) column(i int) []string {
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#table tbody tr:not([hidden])")]
		.map((r) => r.cells[%d].dataset.v ?? r.cells[%[1]d].textContent.trim())`, i))
}

func TestHTML_Table(t *testing.T) {
	b := open(t, browser(t), example())
	numbers := func(i int) (list []float64) {
		for _, s := range b.column(i) {
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
	b.run(chromedp.Click(head, chromedp.ByQuery))
	require.Equal(t, "ascending", eval[string](b, state))
	sorted(numbers(8), false)
	b.run(chromedp.Focus(head, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "descending", eval[string](b, state))
	sorted(numbers(8), true)
	b.run(chromedp.KeyEvent(" "))
	require.Equal(t, "ascending", eval[string](b, state))
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#table [aria-sort=ascending]").length`))
	b.run(chromedp.Click(`#table thead th:nth-child(7) button`)) // ×: 0.0389 before 0.04
	sorted(numbers(6), false)
	b.run(chromedp.Click(`#table thead th:nth-child(1) button`))
	names := b.column(0)
	require.Less(t, index(names, "matmul-f32-512"), index(names, "matmul-f32-1024"), "names by their numbers, too")

	b.run(chromedp.SendKeys("#filter", "MATMUL vulkan:0", chromedp.ByQuery))
	require.Len(t, b.column(0), 5)
	require.Equal(t, "5 of 118 rows", eval[string](b, `document.getElementById("shown").textContent`))
	b.run(chromedp.SendKeys("#filter", " nothing", chromedp.ByQuery))
	require.Empty(t, b.column(0))
	require.Equal(t, "sticky", eval[string](b, `getComputedStyle(document.querySelector("#table thead th")).position`))
	b.quiet("table")
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
	b := open(t, browser(t), example())
	eval[any](b, `window.reached = []; document.addEventListener("focusin", (e) => window.reached.push(e.target)); 0`)
	want := eval[int](b, `(window.want = [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")]
		.filter((e) => e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }))).length`)
	require.Greater(t, want, 60)
	require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("a[href]:not(.pt), button, input, summary, .scroll")]
		.filter((e) => e.tabIndex !== 0).map((e) => e.outerHTML.slice(0, 120))`), "every control, in the order of the page")
	for range want {
		b.run(chromedp.KeyEvent(kb.Tab))
	}
	require.Empty(t, eval[[]string](b, `want.filter((e) => !reached.includes(e)).map((e) => e.outerHTML.slice(0, 120))`))
	require.Equal(t, "skip", eval[string](b, `reached[0].className`))
	require.Zero(t, eval[int](b, `reached.slice(0, want.length).filter((e, i, all) => i > 0 &&
		!(all[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)).length`), "from top to bottom")
	require.Equal(t, 1, eval[int](b, `reached.filter((e) => e.matches(".pt")).length`), "the roofline is one stop")
	first := eval[string](b, `document.querySelector(".wide .pt").focus(), document.activeElement.ariaLabel`)
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	second := eval[string](b, `document.activeElement.ariaLabel`)
	require.NotEqual(t, first, second)
	require.Equal(t, second, eval[string](b, `document.getElementById("detail").textContent`))
	require.Equal(t, "solid", eval[string](b, `(() => { const s = document.querySelector("summary"); s.focus();
		return getComputedStyle(s).outlineStyle; })()`), "the focus is visible")
	b.quiet("keyboard")
}

type named struct {
	Value any `json:"value"`
}

// Pictures, tables and regions have names in the accessibility tree.
func TestHTML_AccessibleNames(t *testing.T) {
	b := open(t, browser(t), example())
	eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
	var tree struct {
		Nodes []struct {
			Ignored bool  `json:"ignored"`
			Role    named `json:"role"`
			Name    named `json:"name"`
		} `json:"nodes"`
	}
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		return chromedp.FromContext(ctx).Target.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	count := map[string]int{}
	for _, n := range tree.Nodes {
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		if n.Ignored {
			continue
		}
		switch role {
		case "img", "image", "table", "region", "navigation", "button", "link", "textbox", "searchbox", "article":
			require.NotEmpty(t, strings.TrimSpace(name), "a node of role %s", role)
			count[role]++
		case "group":
			if strings.HasPrefix(name, "Roofline") {
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
	b := open(t, browser(t), example(), emulation.SetScriptExecutionDisabled(true))
	require.Equal(t, 118, eval[int](b, `document.querySelectorAll("#table tbody tr").length`))
	require.Zero(t, eval[int](b, `[...document.querySelectorAll("button, input")].filter((e) => e.checkVisibility())
		.length`))
	require.NotZero(t, eval[int](b, `document.querySelectorAll(".wide .pt title").length`))
	eval[any](b, `document.querySelector("summary").click()`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("details[open]").length`))
	var pdf []byte
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = cdppage.PrintToPDF().Do(ctx)
		return err
	}))
	require.Equal(t, "%PDF", string(pdf[:4]))
	b.run(emulation.SetEmulatedMedia().WithMedia("print"))
	require.Equal(t, "none", eval[string](b, `getComputedStyle(document.querySelector(".sections")).display`))
	require.Equal(t, "visible", eval[string](b, `getComputedStyle(document.querySelector(".tall")).overflow`))
	b.run(chromedp.EmulateViewport(718, 1000)) // A4 between Chromium's margins
	require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("table")].filter((e) => e.offsetWidth > 718)
		.map((e) => e.offsetWidth + " " + e.caption.textContent)`), "tables that paper cuts off")
	b.run(emulation.SetEmulatedMedia().WithMedia("").WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}}))
	require.Equal(t, "auto", eval[string](b, `getComputedStyle(document.documentElement).scrollBehavior`))
	b.quiet("without scripts")
}
