package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/runtime"
)

const rows = 30 // of the input; not a multiple of the tile height 4

// fill returns small numbers. Their sums in this network are exact, so that the order of additions does not matter.
func fill(n int, f func(i int) int, part float32) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(f(i)) * part
	}
	return values
}

func inputs() (a, b, bias []float32) {
	a = fill(rows*inner, func(i int) int { return (7*(i/inner)+3*(i%inner))%11 - 5 }, 0.25)
	b = fill(inner*classes, func(i int) int { return (5*(i/classes)+2*(i%classes))%7 - 3 }, 0.125)
	bias = fill(classes, func(i int) int { return i - 4 }, 0.5)
	return a, b, bias
}

// plain computes the network by plain loops.
func plain(a, b, bias []float32) (dense []float32, softmax []float64) {
	dense, softmax = make([]float32, rows*classes), make([]float64, rows*classes)
	for i := range rows {
		sum := 0.0
		for j := range classes {
			x := bias[j]
			for k := range inner {
				x += a[i*inner+k] * b[k*classes+j]
			}
			dense[i*classes+j] = max(x, 0)
			sum += math.Exp(float64(max(x, 0)))
		}
		for j := range classes {
			softmax[i*classes+j] = math.Exp(float64(dense[i*classes+j])) / sum
		}
	}
	return dense, softmax
}

// runLibrary calls both functions of the library, compares the results with plain loops, and prints the first row.
func runLibrary(ctx context.Context, path, arrays string, w io.Writer) error {
	m, err := runtime.Load(ctx, path)
	if err != nil {
		return err
	}
	defer m.Close()
	a, b, bias := inputs()
	dense, err := callLibrary(m, "dense", part{a, rows, inner}, part{b, inner, classes}, part{bias, classes, 0})
	if err != nil {
		return err
	}
	softmax, err := callLibrary(m, "softmax", part{dense, rows, classes})
	if err != nil {
		return err
	}
	wantDense, wantSoftmax := plain(a, b, bias)
	for i := range dense {
		if dense[i] != wantDense[i] || math.Abs(float64(softmax[i])-wantSoftmax[i]) > 1e-6 {
			return fmt.Errorf("wrong result: element %d is %v and %v, not %v and %v", i, dense[i], softmax[i], wantDense[i],
				wantSoftmax[i])
		}
	}
	printRow(w, "dense", dense)
	printRow(w, "softmax", softmax)
	fmt.Fprintf(w, "all %d rows are as plain loops in Go have them\n", rows)
	if arrays == "" {
		return nil
	}
	for name, x := range map[string]part{"a": {a, rows, inner}, "b": {b, inner, classes}, "bias": {bias, classes, 0},
		"dense":   {dense, rows, classes},
		"softmax": {softmax, rows, classes}} {
		if err := x.save(filepath.Join(arrays, name+".npy")); err != nil {
			return err
		}
	}
	return nil
}

func printRow(w io.Writer, name string, values []float32) {
	fmt.Fprintf(w, "row 0 of %-8s", name+":")
	for _, v := range values[:classes] {
		fmt.Fprintf(w, " %.6f", v)
	}
	fmt.Fprintln(w)
}

// part is an array with one or two dimensions.
type part struct {
	values     []float32
	rows, cols int
}

func (p part) shape() []int64 {
	if p.cols == 0 {
		return []int64{int64(p.rows)}
	}
	return []int64{int64(p.rows), int64(p.cols)}
}

// save writes the array as NumPy does.
func (p part) save(path string) error {
	var file bytes.Buffer
	if err := npyfile.WriteHeader(&file, dlpack.Float32, p.shape()); err != nil {
		return err
	}
	if err := binary.Write(&file, binary.LittleEndian, p.values); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o666)
}

// callLibrary calls a function, whose last argument is the result.
func callLibrary(m *runtime.Module, name string, in ...part) ([]float32, error) {
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var args []any
	for _, p := range in {
		t, err := runtime.FromSlice(p.values, p.shape()...)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		args = append(args, t)
	}
	out, err := runtime.NewTensor(dlpack.Float32, []int64{rows, classes}, runtime.CPU)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if _, err := f.Call(append(args, out)...); err != nil {
		return nil, err
	}
	return runtime.ToSlice[float32](out)
}
