// Package chromium has pages in Chromium without a window, for tests of HTML. A page is watched for what it should not
// do: requests elsewhere, messages on the console, exceptions, dialogs.
package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// limit ends a test that hangs.
const limit = 5 * time.Minute

// Start starts the browser, which ends with the test. The test is skipped, or on CI fails, if there is none.
func Start(t testing.TB) context.Context {
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
	ctx, cancel := context.WithTimeout(t.Context(), limit)
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

// Tab is a page in a browser.
type Tab struct {
	t     testing.TB
	ctx   context.Context
	lock  sync.Mutex
	notes []string
}

// Open opens a page of 1280 × 900 pixels in a browser of Start, after actions such as Scheme. Requests of addresses
// for which own returns false are noted.
func Open(t testing.TB, in context.Context, url string, own func(url string) bool, before ...chromedp.Action) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(in)
	t.Cleanup(cancel)
	b := &Tab{t: t, ctx: ctx}
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
			if !own(e.Request.URL) {
				note = "request " + e.Request.URL
			}
		case *page.EventJavascriptDialogOpening:
			note = "dialog " + e.Message
		}
		if note != "" {
			b.lock.Lock()
			b.notes = append(b.notes, note)
			b.lock.Unlock()
		}
	})
	b.Run(append([]chromedp.Action{network.Enable(), log.Enable()}, before...)...)
	b.Run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url))
	return b
}

// Run runs actions in the page.
func (b *Tab) Run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// Eval returns the value of an expression in the page; that of a promise when it is there.
func Eval[T any](b *Tab, expression string) (v T) {
	b.t.Helper()
	b.Run(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
	return v
}

// Await waits until an expression in the page is true.
func (b *Tab) Await(expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return Eval[bool](b, "Boolean("+expression+")")
	}, limit, time.Millisecond, expression)
}

// Notes returns what the page did and should not do, and forgets it.
func (b *Tab) Notes() []string {
	b.lock.Lock()
	defer b.lock.Unlock()
	notes := b.notes
	b.notes = nil
	return notes
}

// Quiet fails the test if the page did what it should not do.
func (b *Tab) Quiet(name string) {
	b.t.Helper()
	require.Empty(b.t, b.Notes(), name)
}

// Scheme sets what the system prefers: "light" or "dark".
func Scheme(name string) chromedp.Action {
	feature := emulation.MediaFeature{Name: "prefers-color-scheme", Value: name}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{&feature})
}
