package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"tvmgo/export/pack"
)

// vectorCommand is the hidden command of the child processes of verify: it reads a vectorTask and writes a
// vectorAnswer.
const vectorCommand = "vector-for-verify"

// vectorTask is the task of the child process.
type vectorTask struct {
	File   string  `json:"file"`
	Device string  `json:"device"`
	Rel    float64 `json:"rtol"`
	Abs    float64 `json:"atol"`
	Vector int     `json:"vector"` // -1: list them
}

// vectorAnswer is the result: a report of one vector, or a list of all with only their names.
type vectorAnswer struct {
	Error  string       `json:"error,omitempty"`
	Report *pack.Report `json:"report,omitempty"`
}

// read reads the answer and reports whether it is complete.
func (a *vectorAnswer) read(r io.Reader) bool {
	return json.NewDecoder(io.LimitReader(r, maxAnswers)).Decode(a) == nil
}

func newVectorCommand() *cobra.Command {
	return newChildCommand(vectorCommand, "verify", (*vectorTask).answer)
}

func (t *vectorTask) answer(ctx context.Context, out io.Writer) error {
	var a vectorAnswer
	var err error
	if a.Report, err = t.run(ctx); err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(a)
}

func (t *vectorTask) run(ctx context.Context) (*pack.Report, error) {
	dev, err := parseDevice(t.Device)
	if err != nil {
		return nil, err
	}
	m, err := loadModule(ctx, t.File)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if t.Vector < 0 {
		list, err := pack.Vectors(m)
		return &pack.Report{Device: dev.String(), Vectors: list}, err
	}
	result, err := pack.VerifyOne(ctx, m, t.Vector, dev, pack.Tolerance{Rel: t.Rel, Abs: t.Abs})
	if err != nil {
		return nil, err
	}
	return &pack.Report{Device: dev.String(), Vectors: []pack.Result{*result}}, nil
}
