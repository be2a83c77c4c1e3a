package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/chromium"
)

// full opens the page with everything that it can show, except the field for a token.
func full(t *testing.T) *tab {
	s := serve(t, models(), "/")
	s.infer = func(w http.ResponseWriter, _ *http.Request) {
		y := object{"name": "y", "datatype": "FP32", "shape": []int{2}, "data": []int{1, 2}}
		writeJSON(w, 200, object{"outputs": []object{y}})
	}
	b := open(chromium.Start(t), s)
	b.click(`[aria-label="Send a request to mlp"]`)
	b.send()
	b.click("#curl")
	b.Await(`document.getElementById("note").textContent !== ""`)
	return b
}

// The Tab key reaches every control once, from top to bottom, and the focus is seen.
func TestPage_Keyboard(t *testing.T) {
	b := full(t)
	eval := func(expression string) any { return chromium.Eval[any](b.Tab, expression) }
	eval(`document.activeElement.blur(), window.reached = [], scrollTo(0, 0),
		document.addEventListener("focusin", (e) => window.reached.push(e.target)), null`)
	b.Run(chromedp.Focus(".skip", chromedp.ByQuery))
	want := int(eval(`(window.want = [...document.querySelectorAll("a[href], button, input, select, textarea, pre")]
		.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled)).length`).(float64))
	require.Greater(t, want, 25)
	for range want - 1 {
		b.Run(chromedp.KeyEvent(kb.Tab))
	}
	require.Empty(t, eval(`want.filter((e, i) => e !== reached[i]).map((e) => e.outerHTML.slice(0, 120))`))
	require.Empty(t, eval(`want.filter((e) => { e.focus(); return getComputedStyle(e).outlineStyle !== "solid"; })
		.map((e) => e.outerHTML.slice(0, 120))`))
	b.Quiet("keyboard")
}

// Everything that is used or read aloud has a name.
func TestPage_AccessibleNames(t *testing.T) {
	b := full(t)
	count := map[string]int{}
	for _, n := range b.Accessible() {
		switch n.Role {
		case "meter", "table", "region", "button", "link", "textbox", "searchbox", "combobox", "article", "group",
			"columnheader", "heading":
			require.NotEmpty(t, n.Name, "a node of role %s", n.Role)
			count[n.Role]++
		}
	}
	require.Equal(t, map[string]int{"meter": 3, "table": 3, "region": 4, "button": 15, "link": 2, "textbox": 6,
		"combobox": 1, "article": 5, "group": 6, "columnheader": 12, "heading": 10}, count)
	require.Empty(t, chromium.Eval[[]string](b.Tab, `
		[...document.querySelectorAll("[for], [aria-describedby], [aria-labelledby]")]
		.flatMap((e) => [e.htmlFor, e.getAttribute("aria-describedby"), e.getAttribute("aria-labelledby")])
		.filter((id) => id && !document.getElementById(id))`))
	require.Zero(t, chromium.Eval[int](b.Tab, `(() => {
		const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
		return ids.length - new Set(ids).size; })()`), "ids occur twice")
	b.Quiet("names")
}

// Without scripts, the page says where the status is.
func TestPage_WithoutScripts(t *testing.T) {
	s := serve(t, models(), "/")
	b := chromium.Open(t, chromium.Start(t), s.url, func(url string) bool { return strings.HasPrefix(url, s.url) },
		emulation.SetScriptExecutionDisabled(true))
	require.Contains(t, chromium.Eval[string](b, `document.body.innerText`), "This page needs JavaScript.")
	require.Equal(t, s.url+"v2/status", chromium.Eval[string](b, `document.querySelector("noscript a").href`))
	b.Quiet("without scripts")
}

// Shapes, elements and figures as texts.
func TestScripts_Texts(t *testing.T) {
	s := serve(t, models(), "/")
	b := open(chromium.Start(t), s)
	eval := func(expression string) string {
		return chromium.Eval[string](b.Tab, `(async () => {
			const t = await import("./page/tensor.js"), d = await import("./page/dom.js");
			try { const v = `+expression+`; return typeof v === "string" ? v : JSON.stringify(v); }
			catch (e) { return "error: " + e.message; }
		})()`)
	}
	for _, c := range [][2]string{
		{`t.parseShape("1, 3, 224")`, "[1,3,224]"},
		{`t.parseShape(" [2 × 3] ")`, "[2,3]"},
		{`t.parseShape("2x3")`, "[2,3]"},
		{`t.parseShape("")`, "[]"},
		{`t.parseShape("0, 5")`, "[0,5]"},
		{`t.parseShape("1.5")`, "error: “1.5” is no dimension: write integers with commas, such as 1, 3, 224"},
		{`t.parseShape("?, 4")`, "error: “?” is no dimension: write integers with commas, such as 1, 3, 224"},
		{`t.parseShape("99999999999, 99999999999")`, "error: the shape has too many elements"},
		{`t.fill("zeros", "FP32", [])`, "[0]"},
		{`t.fill("ones", "BOOL", [2])`, "[true, true]"},
		{`t.fill("zeros", "FP32", [0, 4])`, "[]"},
		{`t.fill("ones", "INT8", [2, 1, 2])`, "[[[1, 1]],\n [[1, 1]]]"},
		{`t.fill("zeros", "FP32", [4194305])`, "error: the form makes at most 4,194,304 elements"},
		{`/^\[\d, \d, \d\]$/.test(t.fill("random", "UINT8", [3]))`, "true"},
		{`/^\[(true|false)\]$/.test(t.fill("random", "BOOL", [1]))`, "true"},
		{`t.countJSON("[[1, 2], [3], []]")`, "3"},
		{`t.parse('[1e400, 9007199254740993, -9007199254740993, 1e20, 7]').map(String)`,
			`["Infinity","9007199254740993","-9007199254740993","100000000000000000000","7"]`},
		{`t.format([], [0, 4])`, "[]"},
		{`t.format([5], [])`, "5"},
		{`t.format(5, [])`, "5"},
		{`t.format([1, 2, 3], [2, 2])`, "[1, 2, 3]"},
		{`t.format([[1, 22], [3, 4]], [2, 2])`, "[[ 1, 22],\n [ 3,  4]]"},
		{`t.format([true, false], [2])`, "[true, false]"},
		{`t.format([null, "a"], [2])`, "[null, a]"},
		{`t.format([0.1234567, 1e-30, 123456.7, 1e20, 12345678], [5])`,
			"[0.12346, 1e-30, 123457, 1.0000e+20, 12345678]"},
		{`t.format([...Array(9).keys()], [9])`, "[0, 1, 2, …, 6, 7, 8]"},
		{`t.format([...Array(8).keys()], [8])`, "[0, 1, 2, 3, 4, 5, 6, 7]"},
		{`t.format([...Array(9).keys()], [9, 1])`, "[[0],\n [1],\n [2],\n …,\n [6],\n [7],\n [8]]"},
		{`t.format([...Array(8).keys()], [2, 2, 2])`, "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"},
		{`t.summary([1], [1])`, ""},
		{`t.summary(["a", "b"], [2])`, ""},
		{`t.summary([true, false, true], [3])`, "true: 2"},
		{`t.summary([3, 1, 2, 9], [2, 2])`, "min 1 · max 9 at [1, 1] · mean 3.75"},
		{`t.summary([1, 2n ** 60n], [2])`, "min 1 · max 1152921504606846976 at [1] · mean 5.7646e+17"},
		{`d.duration(0.5)`, "0.500 µs"}, {`d.duration(999.4)`, "999 µs"}, {`d.duration(999.6)`, "1.00 ms"},
		{`d.duration(999499)`, "999 ms"}, {`d.duration(999600)`, "1.00 s"}, {`d.duration(1.5e9)`, "1,500 s"},
		{`d.duration(undefined)`, "–"}, {`d.duration(null)`, "–"}, {`d.duration(0)`, "0.00 µs"},
		{`d.size(0)`, "0 B"}, {`d.size(1023)`, "1023 B"}, {`d.size(1024)`, "1.00 KiB"}, {`d.size(1023 * 1024)`, "1023 KiB"},
		{`d.size(5 << 20)`, "5.00 MiB"},
		{`d.shape([-1, 128])`, "? × 128"}, {`d.shape([])`, "scalar"}, {`d.shape(null)`, "unknown"},
		{`d.plural(1, "model")`, "1 model"}, {`d.plural(1000, "model")`, "1,000 models"},
	} {
		require.Equal(t, c[1], eval(c[0]), c[0])
	}
	b.Quiet("texts")
}
