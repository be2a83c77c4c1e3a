//go:build cgo

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/internal/inspect"
	"tvmgo/runtime"
)

// Limits of the answers that code of the file may give.
const (
	maxText    = 1 << 20  // bytes of one metadata or documentation
	maxAnswers = 64 << 20 // bytes from one child process
	maxErrors  = 64 << 10 // bytes of what a child writes to stderr
)

// question asks the file for one text.
type question struct {
	Function string `json:"function"`
	Doc      bool   `json:"doc,omitempty"` // else the metadata
}

func (q question) String() string {
	if q.Doc {
		return "documentation of " + q.Function
	}
	return "metadata of " + q.Function
}

// task is the standard input of the child process.
type task struct {
	File      string     `json:"file"`
	Questions []question `json:"questions"`
}

// answer is a line that the child process writes: first the number of the question that it begins, then the result.
type answer struct {
	Question    int                  `json:"question"`
	Loading     bool                 `json:"loading,omitempty"` // about the file, not about a question
	Done        bool                 `json:"done,omitempty"`
	Error       string               `json:"error,omitempty"`
	Description *inspect.Description `json:"description,omitempty"`
}

// describeByChildren fills in the descriptions of a report by running code of the file in child processes. A crash
// becomes a problem of the report. Functions that give no answer within limit get no description.
func describeByChildren(ctx context.Context, r *inspect.Report, limit time.Duration) error {
	var questions []question
	at := map[string]*inspect.Function{}
	for i := range r.Functions {
		f := &r.Functions[i]
		at[f.Name] = f
		if f.Signature != "" && !f.Metadata {
			f.Description = &inspect.Description{Signature: f.Signature}
		}
		if f.Metadata {
			questions = append(questions, question{f.Name, false})
		}
		if f.Doc {
			questions = append(questions, question{f.Name, true})
		}
	}
	r.Loaded = len(questions) > 0
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for len(questions) > 0 {
		c := child{report: r, at: at, questions: questions}
		if err := c.run(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			c.problem(fmt.Sprintf("no answer within %v: set a longer time with --timeout%s", limit, c.unasked()))
			return nil
		}
		if c.died != "" {
			c.problem("its code ended the process: " + c.died)
		}
		if c.loading {
			return nil // the file cannot be loaded
		}
		questions = questions[c.asked:]
	}
	return nil
}

// child is a process that reads the descriptions from a file.
type child struct {
	report    *inspect.Report
	at        map[string]*inspect.Function
	questions []question
	asked     int    // questions that were begun
	loading   bool   // the process ended while it loaded the file
	died      string // how it ended before its last answer
}

func (c *child) problem(text string) {
	what := "loading it"
	if !c.loading {
		what = c.questions[max(c.asked-1, 0)].String()
	}
	c.report.Problems = append(c.report.Problems, what+": "+text)
}

func (c *child) unasked() string {
	if n := len(c.questions) - c.asked; n > 0 {
		return fmt.Sprintf("; %d more texts were not requested", n)
	}
	return ""
}

// run starts the process and reads its answers. The error is about this program, not about the file.
func (c *child) run(ctx context.Context) (err error) {
	c.died, err = runChild(ctx, describeCommand, task{c.report.File, c.questions}, c.read)
	return err
}

// read reads the answers, and returns true if the last one was among them.
func (c *child) read(r io.Reader) bool {
	d := json.NewDecoder(io.LimitReader(r, maxAnswers))
	c.loading = true
	for {
		var a answer
		if err := d.Decode(&a); err != nil {
			return false
		}
		switch {
		case a.Loading && a.Error != "":
			c.problem(a.Error)
			return true
		case a.Loading:
			c.loading = !a.Done
		case a.Question < 0 || a.Question >= len(c.questions):
			return false
		case !a.Done:
			c.asked = a.Question + 1
		case a.Error != "":
			c.problem(a.Error)
		case a.Description != nil:
			c.take(c.questions[a.Question], a.Description)
		}
		if !a.Loading && a.Done && a.Question == len(c.questions)-1 {
			return true
		}
	}
}

func (c *child) take(q question, d *inspect.Description) {
	f := c.at[q.Function]
	if f.Description == nil {
		f.Description = &inspect.Description{}
	}
	if q.Doc {
		f.Description.Doc = d.Doc
	} else {
		f.Description.Signature, f.Description.Metadata = d.Signature, d.Metadata
	}
}

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
