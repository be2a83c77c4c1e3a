package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tvmgo/internal/inspect"
	"tvmgo/runtime"
)

// describeCommand is the hidden command of the child process of inspect --load: it reads a task and writes answers.
const describeCommand = "describe-for-inspect"

func newDescribeCommand() *cobra.Command {
	return newChildCommand(describeCommand, "inspect --load", (*task).answer)
}

// answer answers all questions. It writes the number of a question before it runs the function, which may end the
// process.
func (t *task) answer(ctx context.Context, out io.Writer) error {
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	tell := func(a answer) error {
		if err := e.Encode(a); err != nil {
			return err
		}
		return w.Flush()
	}
	m, err := loadModule(ctx, t.File)
	if err != nil {
		return tell(answer{Loading: true, Error: err.Error()})
	}
	defer m.Close()
	if err := tell(answer{Loading: true, Done: true}); err != nil {
		return err
	}
	for i, q := range t.Questions {
		if err := tell(answer{Question: i}); err != nil {
			return err
		}
		a := answer{Question: i, Done: true}
		if a.Description, err = q.ask(m); err != nil {
			a.Error = err.Error()
		}
		if err := tell(a); err != nil {
			return err
		}
	}
	return nil
}

func (q question) ask(m *runtime.Module) (*inspect.Description, error) {
	if q.Doc {
		doc, err := m.Doc(q.Function)
		if err != nil {
			return nil, err
		}
		if err := tooLong(doc); err != nil {
			return nil, err
		}
		return &inspect.Description{Doc: doc}, nil
	}
	meta, err := m.Metadata(q.Function)
	if err != nil {
		return nil, err
	}
	if err := tooLong(meta.Text); err != nil {
		return nil, err
	}
	d := &inspect.Description{Metadata: json.RawMessage(meta.Text)}
	if meta.Schema != nil {
		d.Signature = meta.Schema.Signature(q.Function)
	}
	return d, nil
}

func tooLong(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("it is %d bytes long, and at most %d are shown: Module.Metadata and Module.Doc give all", len(text),
			maxText)
	}
	return nil
}
