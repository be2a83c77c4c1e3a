package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tvmgo/graph/relax"
)

// compileModule compiles the Relax functions of a module in Apache TVM's JSON.
func compileModule(ctx context.Context, text []byte, o Options) (*Compiled, error) {
	o.begin("read the module")
	m, err := relax.Import(text, o.Import)
	if err != nil {
		return nil, err
	}
	return withWeights(ctx, m.Functions, m.Weights, o)
}

// moduleStart is how much of a file is enough to tell a module from other files.
const moduleStart = 4096

// readModule returns the text of a file in Apache TVM's JSON; nil if it is another one.
func readModule(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	defer f.Close()
	start := make([]byte, moduleStart)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || !relax.IsModule(start[:n]) {
		return nil, nil // the reader of the other format says what is wrong
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	return text, nil
}
