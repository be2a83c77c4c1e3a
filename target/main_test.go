package target_test

import (
	"log/slog"
	"testing"
)

// quiet keeps the warnings of a test's targets out of its output.
func quiet(t testing.TB) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}
