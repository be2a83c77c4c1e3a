package page_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/chromium"
	"tvmgo/internal/testing/must"
)

func TestPage_Models(t *testing.T) {
	s := serve(t, models(), "/")
	still := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}})
	b := open(chromium.Start(t), s, still)
	require.Equal(t, "tvmgo", b.text("#server"))
	require.Equal(t, "0.9.0", b.text("#version"))
	require.Equal(t, "ready", b.text("#ready"))
	require.Equal(t, []string{"3 of 5", "287", "40"}, []string{b.text("#total-ready"), b.text("#total-waiting"),
		b.text("#total-running")})
	require.Equal(t, "3/5 ready – tvmgo", chromium.Eval[string](b.Tab, `document.title`))
	text := func(name string) string {
		return strings.Join(strings.Fields(b.text(`[aria-label="Model `+name+`"]`)), " ")
	}
	require.Equal(t, "bert-base READY Try it cuda:0, cuda:1 2 instances on each device batches up to 16 tvmgo_relax "+
		"models/bert-base.so Direction Name Datatype Shape in input_ids INT64 ? × 128 in attention_mask INT64 ? × 128 "+
		"out logits FP32 ? × 2 Waiting 37 of 256 Running 32 Latency p50 4.21 ms p90 6.85 ms p99 11.9 ms", text("bert-base"))
	require.Contains(t, text("mlp"), "in scale INT64 scalar")
	require.Contains(t, text("mlp"), "no batches")
	require.Contains(t, text("mlp"), "Latency p50 – p90 – p99 –")
	require.Equal(t, "ranker LOADING", text("ranker"))
	require.True(t, b.shown(`[aria-label="Model whisper"] .notice`))
	require.False(t, b.shown(`[aria-label="Model ranker"] .notice`))
	require.Contains(t, text("resnet50"), "Latency p50 87.4 µs p90 812 µs p99 1.20 s")
	require.Equal(t, `whisper UNAVAILABLE load models/whisper.so: module kind "cuda" has no loader: import `+
		`tvmgo/runtime/cuda`, text("whisper"))
	meter := func(name string) []any {
		return chromium.Eval[[]any](b.Tab, `(() => { const m = document.querySelector('[aria-label="Queue of `+name+`"]');
			return [m.ariaValueNow, m.ariaValueMax, m.firstChild.offsetWidth / m.offsetWidth]; })()`)
	}
	require.Equal(t, []any{"37", "256"}, meter("bert-base")[:2])
	require.InDelta(t, 37.0/256, meter("bert-base")[2], 0.01)
	require.Equal(t, []any{"0", "64", 0.0}, meter("mlp"))

	// Figures change where they are: what has the focus keeps it.
	b.Run(chromedp.Focus(`[aria-label="Send a request to resnet50"]`, chromedp.ByQuery))
	s.edit(func() {
		s.status["ready"] = false
		list := s.status["models"].([]object)
		list[0]["queue"], list[0]["running"] = 300, 0
		list[0]["metadata"].(object)["outputs"] = []object{tensor("pooled", "FP16", -1, 768)}
		list[4] = object{"name": "whisper", "state": "READY"}
		s.status["models"] = append(list[:2:2], list[3], list[4], object{"name": "zebra", "state": "STARTING"})
	})
	b.poll()
	require.Equal(t, "Send a request to resnet50", chromium.Eval[string](b.Tab, `document.activeElement.ariaLabel`))
	require.Equal(t, "not ready", b.text("#ready"))
	require.Equal(t, []string{"bert-base", "mlp", "resnet50", "whisper", "zebra"}, chromium.Eval[[]string](b.Tab,
		`[...document.querySelectorAll("#cards h3")].map((h) => h.innerText)`))
	require.Contains(t, text("bert-base"), "Waiting 300 of 256 Running 0")
	require.Contains(t, text("bert-base"), "out pooled FP16 ? × 768")
	require.NotContains(t, text("bert-base"), "logits")
	require.Equal(t, 1.0, meter("bert-base")[2])
	require.Equal(t, "whisper READY", text("whisper"))
	require.Equal(t, "zebra STARTING", text("zebra"))
	s.edit(func() { s.status["models"] = []object{} })
	b.poll()
	require.Equal(t, "The server has no models.", b.text("#empty"))
	b.Quiet("models")
}

func TestPage_Filter(t *testing.T) {
	status := models()
	for _, name := range []string{"bert-large", "bert-tiny"} {
		status["models"] = append(status["models"].([]object), object{"name": name, "state": "LOADING"})
	}
	s := serve(t, status, "/")
	b := open(chromium.Start(t), s)
	const names = `[...document.querySelectorAll("#cards li:not([hidden]) h3")].map((h) => h.innerText)`
	require.Len(t, chromium.Eval[[]string](b.Tab, names), 7)
	b.write("#filter", "t BERT-")
	require.Equal(t, []string{"bert-base", "bert-large", "bert-tiny"}, chromium.Eval[[]string](b.Tab, names))
	b.poll()
	require.Len(t, chromium.Eval[[]string](b.Tab, names), 3)
	b.write("#filter", "nothing")
	require.Equal(t, "No model has such a name.", b.text("#empty"))
	b.Quiet("filter")
}

// A text of the server stays a text wherever it is shown.
func TestPage_TextsAreInert(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>"'&amp;` + "\u202e"
	in := []object{tensor(evil, evil, 1)}
	status := object{"server": object{"name": evil, "version": evil}, "ready": true, "models": []object{
		{"name": evil, "state": evil, "reason": evil, "file": evil, "devices": []string{evil}, "instances": 1,
			"capacity": 1, "metadata": object{"name": evil, "platform": evil, "inputs": in, "outputs": in}},
		{"name": "plain", "state": "UNAVAILABLE", "reason": evil}}}
	s := serve(t, status, "/")
	b := open(chromium.Start(t), s)
	require.Equal(t, evil, b.text("#server"))
	const elements = `document.querySelectorAll("script, img, iframe, object").length`
	require.Equal(t, 1, chromium.Eval[int](b.Tab, elements))
	require.Equal(t, 16, chromium.Eval[int](b.Tab, `document.body.innerText.split("onerror=alert").length - 1`))

	s.edit(func() {
		s.infer = func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, object{"model_name": evil, "model_version": evil, "outputs": []object{
				{"name": evil, "datatype": evil, "shape": []string{evil}, "data": []string{evil, evil}}}})
		}
	})
	b.send()
	require.Contains(t, b.text("#outputs"), evil)
	s.edit(func() { s.infer = func(w http.ResponseWriter, _ *http.Request) { fail(w, 418, evil) } })
	b.send()
	require.Equal(t, evil, b.text("#outputs"))
	s.edit(func() {
		s.infer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(evil))
		}
	})
	b.send()
	require.Contains(t, b.text("#outputs"), evil)
	require.Equal(t, 1, chromium.Eval[int](b.Tab, elements))
	require.Equal(t, "POST /v2/models/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%3Cscript%3Ealert(2)%3C%2Fscript%3E%22'%26"+
		"amp%3B%E2%80%AE/infer", s.last().call)
	require.Equal(t, []string{"log Failed to load resource: the server responded with a status of 418 (I'm a teapot)"},
		b.Notes())
}

func TestPage_Send(t *testing.T) {
	s := serve(t, models(), "/below/a/path/")
	answers := 0
	s.infer = func(w http.ResponseWriter, _ *http.Request) {
		answers++
		_, _ = w.Write([]byte(`{"model_name": "mlp", "model_version": "7", "outputs": [
			{"name": "y", "datatype": "FP32", "shape": [2, 4], "data": [0.5, -1.25, 3, 4e-9, 5, 6, 7, 8]},
			{"name": "id", "datatype": "INT64", "shape": [1], "data": [9007199254740993]}]}`))
	}
	b := open(chromium.Start(t), s)
	b.click(`[aria-label="Send a request to mlp"]`)
	require.Equal(t, []string{"bert-base", "mlp", "resnet50"}, chromium.Eval[[]string](b.Tab,
		`[...document.getElementById("model").options].map((o) => o.value)`))
	require.Equal(t, "model", chromium.Eval[string](b.Tab, `document.activeElement.id`))
	b.send()
	require.Equal(t, "POST /v2/models/mlp/infer", s.last().call)
	require.Equal(t, "application/json", s.last().contentType)
	require.Empty(t, s.last().authorization)
	require.Equal(t, decode(t, `{"inputs": [
		{"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [[0, 0, 0, 0], [0, 0, 0, 0]]},
		{"name": "scale", "datatype": "INT64", "shape": [], "data": [0]},
		{"name": "mask", "datatype": "BOOL", "shape": [1], "data": [false]}]}`), decode(t, s.last().body))
	require.Regexp(t, `^HTTP 200 · [\d.,]+ (µs|ms|s) · 2\d\d B$`, b.text("#outcome"))
	require.Equal(t, "Model mlp, version 7", b.text("#outputs > p"))
	require.Equal(t, "[[  0.5, -1.25,     3,  4e-9],\n [    5,     6,     7,     8]]", b.text(`[aria-label="Output y"]`))
	require.Contains(t, b.text("#outputs"), "8 elements · min -1.25 · max 8 at [1, 3] · mean 3.5313")
	require.Equal(t, "[9007199254740993]", b.text(`[aria-label="Output id"]`))

	// A changed shape changes elements that were made, but not those that the user wrote.
	b.write("#input-2-shape", "3")
	b.click(`[aria-label="ones for mask"]`)
	b.write("#input-1-data", " [ -9007199254740993 ] ")
	b.write("#input-0-shape", "1x2")
	b.poll()
	b.Run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl
	b.Await(`document.getElementById("cancel").hidden`)
	require.Len(t, s.calls("/infer"), 2)
	require.Contains(t, s.last().body, `"shape":[1,2],"data":[[0, 0]]}`)
	require.Contains(t, s.last().body, `"data":[ -9007199254740993 ]}`)
	require.Contains(t, s.last().body, `"data":[true, true, true]}`)
	b.write("#input-1-shape", "2")
	require.Equal(t, "The shape has 2 elements, the data 1.", b.text("#input-1-hint"))
	b.click(`[aria-label="random for x"]`)
	b.send()
	require.Regexp(t, `"data":\[\[-?[01]\.\d{3}, -?[01]\.\d{3}\]\]`, s.last().body)
	require.Contains(t, s.last().body, `"shape":[2],"data":[ -9007199254740993 ]`)

	// What is no JSON is not sent; nor can it add fields.
	for text, want := range map[string]string{"[1, 2": "", `[1]}],"id":"7","x":[{"y":[2]`: "",
		"5": "write a list of elements, such as [0, 0]", "null": "write a list of elements, such as [0, 0]"} {
		b.write("#input-0-data", text)
		b.click("#send")
		require.Contains(t, b.text("#problem"), "Input x: data: "+want, text)
		require.Equal(t, "input-0-data", chromium.Eval[string](b.Tab, `document.activeElement.id`))
	}
	b.write("#input-0-shape", "2, -1")
	b.click("#send")
	require.Contains(t, b.text("#problem"), "Input x: shape: “-1” is no dimension")
	require.Len(t, s.calls("/infer"), 3)
	require.Equal(t, 3, answers)
	b.Quiet("send")
}

// Elements of large tensors are made when they are sent.
func TestPage_SendLarge(t *testing.T) {
	s := serve(t, models(), "/")
	s.infer = func(w http.ResponseWriter, _ *http.Request) {
		data := make([]int, 12*9*20)
		for i := range data {
			data[i] = i
		}
		writeJSON(w, 200, object{"model_name": "resnet50", "outputs": []object{
			{"name": "scores", "datatype": "INT32", "shape": []int{12, 9, 20}, "data": data}}})
	}
	b := open(chromium.Start(t), s)
	b.click(`[aria-label="Send a request to resnet50"]`)
	require.Equal(t, "", chromium.Eval[string](b.Tab, `document.getElementById("input-0-data").value`))
	require.Equal(t, "150,528 elements: zeros. Type or paste a list to send others.",
		chromium.Eval[string](b.Tab, `document.getElementById("input-0-data").placeholder`))
	b.click(`[aria-label="ones for image"]`)
	b.send()
	var body struct {
		Inputs []struct {
			Shape []int
			Data  [][][][]float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.last().body), &body))
	require.Equal(t, []int{1, 3, 224, 224}, body.Inputs[0].Shape)
	require.Equal(t, 1.0, body.Inputs[0].Data[0][2][223][223])
	output := b.text(`[aria-label="Output scores"]`)
	require.Contains(t, output, "[[[   0,    1,    2, …,   17,   18,   19],\n  [  20,   21,")
	require.Contains(t, output, "2157, 2158, 2159]]]")
	require.Less(t, strings.Count(output, "\n"), 7*7*2)
	require.Contains(t, b.text("#outputs"), "2,160 elements · min 0 · max 2159 at [11, 8, 19] · mean 1079.5")
	b.write("#input-0-shape", "9000, 9000")
	b.click("#send")
	require.Contains(t, b.text("#problem"), "the form makes at most 4,194,304 elements")
	b.Quiet("large")
}

func TestPage_Errors(t *testing.T) {
	s := serve(t, models(), "/")
	b := open(chromium.Start(t), s)
	const message = "model \"bert-base\": the queue is full:\n  try again"
	s.edit(func() {
		s.infer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			fail(w, 429, message)
		}
	})
	b.send()
	require.Equal(t, message, b.text("#outputs pre"))
	require.Contains(t, b.text("#outcome"), "HTTP 429 · ")
	require.Contains(t, b.text("#outputs"), "Try again after 3 s.")
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{502, "Bad Gateway\n", "Bad Gateway"},
		{500, "", "The server gave no reason."},
		{200, `{"outputs": 7}`, "The answer has no outputs:\n\n{\"outputs\": 7}"},
		{200, `null`, "The answer has no outputs:\n\nnull"},
		{200, `{"model_name": null, "outputs": [{"data": [[1, null], "a"]}, {}]}`, "[1, null, a]"},
	} {
		s.edit(func() {
			s.infer = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}
		})
		b.send()
		require.Contains(t, b.text("#outputs"), c.want)
	}

	// The user ends a request that takes long; the server ends one.
	ended := make(chan struct{})
	s.edit(func() {
		s.infer = func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(ended)
		}
	})
	b.click("#send")
	b.click("#cancel")
	<-ended
	b.Await(`document.getElementById("cancel").hidden`)
	require.Equal(t, "You cancelled the request.", b.text("#outputs"))
	b.Notes()
	s.edit(func() { s.gone = true })
	b.send()
	require.Contains(t, b.text("#outputs"), "The server was not reached: ")
	for _, note := range b.Notes() {
		require.Contains(t, note, "log Failed to load resource: net::ERR_")
	}
}

func TestPage_Unreachable(t *testing.T) {
	s := serve(t, models(), "/")
	s.gone = true
	b := open(chromium.Start(t), s)
	require.Regexp(t, `^The server is unreachable since 12:00:00 \(.+\)\. This page tries again every 2 seconds\.$`,
		b.text("#connection"))
	require.Equal(t, "unreachable", b.text("#ready"))
	stale := func() bool {
		return chromium.Eval[bool](b.Tab, `document.getElementById("models").matches(".stale")`)
	}
	require.True(t, stale())
	first := b.text("#connection")
	b.poll()
	require.Equal(t, first, b.text("#connection"), "since the first time")
	s.edit(func() { s.gone = false })
	b.poll()
	require.Empty(t, b.text("#connection"))
	require.Equal(t, "ready", b.text("#ready"))
	require.False(t, stale())
	require.Contains(t, b.text("#cards"), "bert-base")
	require.Equal(t, "12:02:00", b.text("#updated"))
	s.edit(func() { s.gone = true })
	b.poll()
	require.Contains(t, b.text("#connection"), "unreachable since 12:03:00")
	require.Equal(t, "12:02:00", b.text("#updated"))
	require.Contains(t, b.text("#cards"), "bert-base", "what was known stays")
	require.True(t, stale())
	s.edit(func() { s.gone, s.status = false, object{"error": "no"} })
	b.poll()
	require.Equal(t, "The server does not give its status (HTTP 200): no", b.text("#connection"))
	for _, note := range b.Notes() {
		require.Contains(t, note, "log Failed to load resource: net::ERR_")
	}
}

// The page asks only while it is visible.
func TestPage_Hidden(t *testing.T) {
	s := serve(t, models(), "/")
	b := open(chromium.Start(t), s)
	require.Equal(t, 1, b.hide(true))
	require.Zero(t, chromium.Eval[int](b.Tab, `timers()`))
	require.Equal(t, 2, b.hide(false))
	b.answered()
	require.Len(t, s.calls("/v2/status"), 2)
	require.Equal(t, 1, chromium.Eval[int](b.Tab, `timers()`))
	b.Quiet("hidden")
}

func TestPage_Token(t *testing.T) {
	s := serve(t, models(), "/")
	s.token = "s3cret"
	b := open(chromium.Start(t), s)
	require.Empty(t, s.calls("/v2/status")[0].authorization)
	require.Equal(t, "there is no token: send the header Authorization: Bearer TOKEN", b.text("#token-why"))
	require.Equal(t, "token", chromium.Eval[string](b.Tab, `document.activeElement.id`))
	require.Equal(t, "password", chromium.Eval[string](b.Tab, `document.getElementById("token").type`))
	require.Zero(t, chromium.Eval[int](b.Tab, `timers()`), "it does not ask again without a token")
	require.Equal(t, 1, b.hide(false))
	enter := func(token string) {
		b.write("#token", token)
		b.Run(chromedp.KeyEvent(kb.Enter))
	}
	enter("\u00fcber")
	require.Equal(t, "a token has visible ASCII characters only", b.text("#token-why"))
	enter("wrong")
	b.Await(`document.getElementById("token-why").textContent.startsWith("there is no token")`)
	require.Equal(t, "Bearer wrong", s.calls("/v2/status")[1].authorization)
	enter("s3cret")
	b.Await(`document.getElementById("login").hidden`)
	require.Equal(t, "Bearer s3cret", s.calls("/v2/status")[2].authorization)
	require.Contains(t, b.text("#cards"), "bert-base")
	s.edit(func() {
		s.infer = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, object{"outputs": []object{}}) }
	})
	b.send()
	require.Equal(t, "Bearer s3cret", s.last().authorization)
	b.click("#curl")
	require.Contains(t, b.text("#command"), `-H "Authorization: Bearer $TOKEN"`)
	require.NotContains(t, chromium.Eval[string](b.Tab, `document.documentElement.outerHTML +
		[...document.querySelectorAll("input")].map((i) => i.value) + document.cookie +
		JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + location`), "s3cret", "it is in memory only")

	// The server may want another one later, also for a request alone.
	s.edit(func() { s.token = "new" })
	b.send()
	require.True(t, b.shown("#login"))
	require.Contains(t, b.text("#outputs"), "there is no token")
	enter("new")
	b.Await(`document.getElementById("login").hidden`)
	b.click("#forget")
	b.Await(`!document.getElementById("login").hidden`)
	list := s.calls("/v2/status")
	require.Empty(t, list[len(list)-1].authorization)
	for _, note := range b.Notes() {
		require.Equal(t, "log Failed to load resource: the server responded with a status of 401 (Unauthorized)", note)
	}
}

// A shell that runs the command sends what the form sends.
func TestPage_Curl(t *testing.T) {
	status := models()
	m := status["models"].([]object)[1]
	m["name"] = `it's "$HOME" \ ` + "`x`"
	m["metadata"] = metadata("m", []object{tensor("it's $HOME", "FP32", -1)}, nil)
	s := serve(t, status, "/below/")
	s.infer = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, object{"outputs": []object{}}) }
	b := open(chromium.Start(t), s)
	for _, size := range []string{"2", "30000"} {
		chromium.Eval[any](b.Tab, `(() => { const m = document.getElementById("model"); m.value = m.options[1].value;
			m.dispatchEvent(new Event("change")); window.copied = ""; navigator.clipboard.writeText = async (text) => {
			window.copied = text; }; })(), null`)
		b.write("#input-0-shape", size)
		b.send()
		b.click("#curl")
		b.Await(`window.copied !== ""`)
		b.Await(`document.getElementById("note").textContent === "Copied."`)
		const curl = `curl() { for a in "$@"; do printf '%s\0' "$a"; [ "$a" = @- ] && cat; done; true; }`
		command := exec.Command("sh", "-c", curl+"\n"+chromium.Eval[string](b.Tab, `window.copied`))
		arguments := strings.Split(string(must.Get(command.Output())(t)), "\x00")
		require.Equal(t, []string{"-sS", s.url + strings.TrimPrefix(s.last().call, "POST /"), "-H",
			"Content-Type: application/json"}, arguments[:4])
		if size == "2" {
			require.Equal(t, []string{"-d", s.last().body, ""}, arguments[4:])
		} else {
			require.Equal(t, []string{"--data-binary", "@-", s.last().body + "\n"}, arguments[4:])
		}
		require.True(t, strings.HasPrefix(chromium.Eval[string](b.Tab, `window.copied`), b.text("#command")[:100]))
	}

	// Where the page has no clipboard, the browser copies a selection, or the user does.
	chromium.Eval[any](b.Tab, `navigator.clipboard.writeText = async () => { throw new Error("no"); },
		document.execCommand = () => { window.selected = document.activeElement.value; return false; }, null`)
	require.True(t, b.shown("#command"))
	b.write("#input-0-shape", "1")
	require.False(t, b.shown("#command"), "it was of another shape")
	b.click("#curl")
	b.Await(`document.getElementById("note").textContent === "The browser does not copy: select the command."`)
	require.Equal(t, chromium.Eval[string](b.Tab, `window.selected`), b.text("#command"))
	require.Equal(t, "curl", chromium.Eval[string](b.Tab, `document.activeElement.id`))
	b.Quiet("curl")
}
