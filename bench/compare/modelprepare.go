package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"tvmgo/graph/onnx/file"
)

// prepare writes the files of a model, compiles it, and checks that both sides have the same results.
func (m *modelPrograms) prepare(name string) (base string, err error) {
	if base = m.ready[name]; base != "" {
		return base, nil
	}
	at := slices.IndexFunc(m.list, func(o model) bool { return o.name == name })
	if at < 0 {
		return "", errors.New("there is no such model")
	}
	base = filepath.Join(m.dir, name)
	var content []byte
	if write := m.list[at].write; write != nil {
		content = write().Encode()
	} else {
		found, err := wheelFiles(m.venv, filepath.Join(lightModels, m.list[at].light))
		if err != nil {
			return "", err
		}
		if content, err = os.ReadFile(found[0]); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(base+".onnx", content, 0o666); err != nil {
		return "", err
	}
	if err := writeInputs(content, base); err != nil {
		return "", err
	}
	if _, err := m.compile(base, ""); err != nil {
		return "", err
	}
	var results [][]byte
	for _, who := range []string{"model", "ort"} {
		out := base + "." + who
		program, args := m.command(who, "once", base, out)
		if err := command(program, args...).Run(); err != nil {
			return "", fmt.Errorf("run by %s: %w", who, err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			return "", err
		}
		results = append(results, content)
	}
	if m.list[at].exact {
		if !bytes.Equal(results[0], results[1]) {
			return "", errors.New("the results differ from those of ONNX Runtime")
		}
	} else if err := sameResults(floats(results[0]), floats(results[1])); err != nil {
		return "", err
	}
	m.ready[name] = base
	return base, nil
}

// writeInputs writes a file with random elements for each input of a model.
func writeInputs(content []byte, base string) error {
	parsed, err := file.Parse(content)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	count := 0
	for _, in := range parsed.Graph.Inputs {
		if slices.ContainsFunc(parsed.Graph.Initializers, func(t *file.Tensor) bool { return t.Name == in.Name }) {
			continue
		}
		n := int64(1)
		for _, d := range in.Type.Shape {
			n *= d.Size
		}
		var data []byte
		for range n {
			if in.Type.Elem == file.Float {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(random.NormFloat64())))
			} else { // one byte
				data = append(data, byte(random.IntN(256)))
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s.%d.bin", base, count), data, 0o666); err != nil {
			return err
		}
		count++
	}
	return nil
}

func floats(data []byte) []float32 {
	elements := make([]float32, len(data)/4)
	for i := range elements {
		elements[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return elements
}

// sameResults returns an error if the results of a model differ by more than a thousandth from those of ONNX Runtime,
// plus 1e-5 of the largest of these, because elements may be near zero.
func sameResults(ours, theirs []float32) error {
	if len(ours) != len(theirs) || len(ours) == 0 {
		return fmt.Errorf("the results have %d elements, and %d by ONNX Runtime", len(ours), len(theirs))
	}
	largest := 0.0
	for _, v := range theirs {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, v := range theirs {
		d := math.Abs(float64(ours[i]) - float64(v))
		if !(d <= 1e-3*math.Abs(float64(v))+1e-5*largest) {
			return fmt.Errorf("element %d of the results is %v, and %v by ONNX Runtime", i, ours[i], v)
		}
	}
	return nil
}
