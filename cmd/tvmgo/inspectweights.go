package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/inspect"
	"tvmgo/weights"
)

// weightsReport is what inspect prints of a file of parameters.
type weightsReport struct {
	File     string            `json:"file"`
	Format   weights.Format    `json:"format"`
	Bytes    int64             `json:"bytes"` // of all tensors in memory
	Tensors  []tensorReport    `json:"tensors"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type tensorReport struct {
	Name     string          `json:"name"`
	DType    dlpack.DataType `json:"dtype"`
	Shape    []int64         `json:"shape"`
	Bytes    int64           `json:"bytes"`
	Encoding string          `json:"encoding,omitempty"`
	Aligned  bool            `json:"aligned"`
}

// inspectWeights prints the tensors of a file of parameters.
func inspectWeights(ctx context.Context, w io.Writer, path string, asJSON bool) error {
	r := weightsReport{File: path, Tensors: []tensorReport{}}
	err := foreign(ctx, func() error {
		set, err := weights.Open(path)
		if err != nil {
			return err
		}
		defer set.Close()
		r.Format, r.Bytes, r.Metadata = set.Format(), set.Size(), maps.Clone(set.Metadata())
		for _, t := range set.Tensors() {
			r.Tensors = append(r.Tensors, tensorReport{t.Name, t.DType, append([]int64{}, t.Shape...), t.Size, t.Encoding,
				t.IsAligned()})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if asJSON {
		return writeJSON(w, r)
	}
	return r.writeText(w)
}

func (r *weightsReport) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s, %d tensors of %d bytes\n", inspect.Shown(r.File), r.Format, len(r.Tensors), r.Bytes)
	title := "tensors"
	for _, t := range r.Tensors {
		note := ""
		switch {
		case t.Encoding != "":
			note = ", stored as " + t.Encoding
		case !t.Aligned:
			note = ", not aligned to 64 bytes"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-16s %s %s (%d bytes%s)\n", title, inspect.Shown(t.Name),
				arguments.TypeText(t.DType, t.Shape), t.Bytes, note)
		}
		title = ""
	}
	title = "metadata"
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-16s %s: %s\n", title, inspect.Shown(key), inspect.Shown(r.Metadata[key]))
		}
		title = ""
	}
	return err
}
