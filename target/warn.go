package target

import (
	"context"
	"log/slog"
)

func warn(text string) { slog.LogAttrs(context.Background(), slog.LevelWarn, text) }
