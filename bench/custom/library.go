package custom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/inspect"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
)

// library is a shared library.
type library struct {
	file    string
	name    string // of the function
	report  *inspect.Report
	sig     *pack.Signature
	devices []dlpack.DeviceType // for which it has code, as far as the file says
	sure    bool                // devices is complete
}

func (l *library) path() string               { return l.file }
func (l *library) function() string           { return l.name }
func (l *library) signature() *pack.Signature { return l.sig }

// newLibrary inspects a library, without running its code.
func newLibrary(path string, o *Options) (source, error) {
	report, err := inspect.File(path)
	if err != nil {
		return nil, err
	}
	l := &library{file: path, name: o.Function, report: report}
	f, err := l.find()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f != nil {
		l.name = f.Name
		l.sig = parseTVM(f.Signature)
	}
	l.findDevices(f)
	return l, nil
}

// find returns the function of the file that is called; nil if another module of the file may have it.
func (l *library) find() (*inspect.Function, error) {
	parts := map[string]bool{} // variants, which other functions call
	for _, f := range l.report.Functions {
		for _, v := range f.Variants {
			parts[v.Function] = true
		}
	}
	var names, all []string
	for i := range l.report.Functions {
		f := &l.report.Functions[i]
		if all = append(all, f.Name); f.Name == l.name {
			return f, nil
		}
		if !parts[f.Name] && !strings.HasPrefix(f.Name, "_") {
			names = append(names, f.Name)
		}
	}
	others := false // modules whose functions are not known without running code
	if b := l.report.Blob; b != nil {
		for _, m := range b.Modules {
			if m.Device == nil {
				others = others || m.Kind != "library"
				continue
			}
			for _, k := range m.Device.Functions {
				if all = append(all, k.Name); k.Name == l.name && l.name != "" {
					return nil, nil
				}
			}
		}
	}
	list := strings.Join(names, ", ")
	switch {
	case len(all) == 0 && !others:
		return nil, errors.New("it has no functions")
	case l.name == "" && len(names) == 1:
		return l.named(names[0]), nil
	case l.name == "":
		return nil, fmt.Errorf("which function? It has %s", list)
	case others:
		return nil, nil
	}
	if near := nearest.Name(l.name, all); near != "" {
		return nil, fmt.Errorf("there is no function %s in it; did you mean %q?", inspect.Shown(l.name), near)
	}
	return nil, fmt.Errorf("there is no function %s in it; it has %s", inspect.Shown(l.name), list)
}

func (l *library) named(name string) *inspect.Function {
	i := slices.IndexFunc(l.report.Functions, func(f inspect.Function) bool { return f.Name == name })
	return &l.report.Functions[i]
}

// findDevices lists the types of device for which the file has code: by the function's variants, else by the modules in
// the file, else by the drivers that it needs.
func (l *library) findDevices(f *inspect.Function) {
	add := func(name string) {
		if t, err := dlpack.ParseDevice(name); err == nil && !slices.Contains(l.devices, t.Type) {
			l.devices = append(l.devices, t.Type)
		}
	}
	if f != nil && len(f.Variants) > 0 {
		for _, v := range f.Variants {
			add(v.Device)
		}
		l.sure = true
		return
	}
	if b := l.report.Blob; b != nil {
		for _, m := range b.Modules {
			add(m.Kind)
		}
	}
	for _, lib := range l.report.Libraries {
		for begin, name := range map[string]string{"libcuda.so": "cuda", "libcudart.so": "cuda", "libOpenCL.so": "opencl",
			"libvulkan.so": "vulkan"} {
			if strings.HasPrefix(lib, begin) {
				add(name)
			}
		}
	}
	if len(l.devices) == 0 {
		l.devices, l.sure = []dlpack.DeviceType{dlpack.CPU}, true
	}
}

// serves counts the CPU of a file with device code as possible: its functions may be for the host.
func (l *library) serves(t dlpack.DeviceType) (bool, error) {
	switch {
	case slices.Contains(l.devices, t):
		return true, nil
	case t == dlpack.CPU && !l.sure:
		return false, nil
	}
	return false, fmt.Errorf("%s of %s has code for %s", l.name, l.file, deviceNames(l.devices))
}

func (l *library) open(ctx context.Context, on *bench.Device, list []*argument) (*opened, error) {
	m, err := runtime.Load(ctx, l.file)
	if err != nil {
		return nil, err
	}
	o := &opened{facts: bench.Facts{}, classic: l.report.Generation == inspect.Classic}
	o.close = append(o.close, m.Close)
	if err := l.openFunction(m, on, list, o); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	o.facts = facts.OfModule(m, l.name, on, runtime.LaunchConfig{})
	return o, nil
}

func (l *library) openFunction(m *runtime.Module, on *bench.Device, list []*argument, o *opened) (err error) {
	if o.fn, err = m.Function(l.name); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	o.close = append(o.close, o.fn.Close)
	about, err := m.Metadata(l.name)
	if err != nil {
		return nil // it has none
	}
	var packed pack.Metadata
	if json.Unmarshal([]byte(about.Text), &packed) != nil {
		return nil
	}
	if sig, err := pack.ParseSignature(packed.Signature); err == nil && packed.Signature != "" {
		if err := check(sig, list, nil); err != nil {
			return err
		}
	}
	var types []dlpack.DeviceType
	for _, t := range packed.Targets {
		if d, err := dlpack.ParseDevice(t.Device); err == nil {
			types = append(types, d.Type)
		}
	}
	o.sure = slices.Contains(types, on.Handle.Type)
	if len(types) > 0 && !o.sure {
		return notMeasured("%s of %s has code for %s", l.name, l.file, deviceNames(types))
	}
	return nil
}
