package inspect

import (
	"encoding/binary"
	"errors"

	"tvmgo/blob"
	"tvmgo/blob/graphjson"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/modulekind"
)

// addBlob adds the modules in the file's blob. Damage is a problem of the report.
func (c *Contents) addBlob(m *image, symbols []symbol) {
	layout := blob.Modern
	switch c.Generation {
	case Classic:
		layout = blob.Legacy
	case V21:
		layout = blob.LegacyFFI
	}
	for i := range symbols {
		if s := &symbols[i]; s.name == layout.Symbol() && s.exported() && m.mapped(s.value) {
			c.Blob = &Blob{Symbol: s.name, Layout: layout.String(), Modules: []Module{}}
			c.readBlob(m, s.value, layout)
			return
		}
	}
}

func (c *Contents) readBlob(m *image, at uint64, layout blob.Layout) {
	_, available := m.segmentAt(at)
	head, err := m.read(at, min(available, 8), "blob")
	if err != nil {
		c.damage(err.Error())
		return
	}
	want := available // the blob ends inside its length
	if len(head) == 8 {
		if n := binary.LittleEndian.Uint64(head); n < available-8 {
			want = n + 8
		}
	}
	data, err := m.read(at, want, "blob")
	if err != nil {
		c.damage(err.Error())
		return
	}
	c.Raw = data
	b, err := blob.Parse(data, layout, nil)
	if err != nil {
		c.damage(err.Error(), cure(err))
		return
	}
	c.Raw, c.Parsed, c.Blob.Size = data[:b.Size:b.Size], b, b.Size
	c.addModules(b)
}

func cure(err error) string {
	if errors.Is(err, blob.ErrCorrupt) || errors.Is(err, graphjson.ErrGraph) {
		return ": " + exportAgain
	}
	return "" // an unknown kind has its own loader
}

// addModules adds the entries. If there is no tree, the library is the root and imports all of them.
func (c *Contents) addModules(b *blob.Blob) {
	shift := 0
	if b.ImplicitRoot {
		root := Module{Kind: modulekind.Library, Imports: []int{}}
		for i := range b.Entries {
			root.Imports = append(root.Imports, i+1)
		}
		c.Blob.Modules = append(c.Blob.Modules, root)
		shift = 1
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		node := Module{Index: i + shift, Kind: e.Kind, PayloadSize: int64(len(e.Payload)),
			Imports: append([]int{}, b.Imports(i)...),
			Loader:  blob.LoaderImport(e.Kind), Unsupported: blob.Unsupported(e.Kind)}
		if e.IsLibrary() {
			node.Kind = modulekind.Library
		}
		device, err := deviceOf(e, b.Layout)
		if err != nil {
			c.damage(ModuleProblem(e.Kind, err))
		}
		node.Device = device
		err = nil
		switch modulekind.FormOf(e.Kind) {
		case modulekind.Program:
			node.Program, err = programOf(e.Payload, b.Layout, c.Functions, c.code)
		case modulekind.GraphText:
			node.Graph, err = graphOf(e.Payload, c.code)
		}
		if err != nil {
			c.damage(ModuleProblem(e.Kind, err))
		}
		c.Blob.Modules = append(c.Blob.Modules, node)
	}
}

// ModuleProblem describes a module whose payload cannot be read.
func ModuleProblem(kind string, err error) string {
	if modulekind.FormOf(kind) == modulekind.Program { // its errors have remedies
		return "module " + kind + ": " + err.Error()
	}
	return "module " + kind + ": " + err.Error() + cure(err)
}

// deviceOf describes the payload of a module with device code; nil for others.
func deviceOf(e *blob.Entry, layout blob.Layout) (*Device, error) {
	switch modulekind.FormOf(e.Kind) {
	case modulekind.Device:
		d, err := blob.ParseDeviceModule(e.Payload, layout)
		if err != nil {
			return nil, err
		}
		device := &Device{Format: d.Format, CodeSize: int64(len(d.Data)), Functions: deviceFunctions(d.Functions)}
		if modulekind.Find(e.Kind) == modulekind.CUDA {
			device.addResources(d)
		}
		return device, nil
	case modulekind.Shaders:
		v, err := blob.ParseVulkanModule(e.Payload, layout)
		if err != nil {
			return nil, err
		}
		device := &Device{Format: v.Format, Functions: deviceFunctions(v.Functions)}
		for _, s := range v.Shaders {
			device.CodeSize += int64(len(s.Code))
		}
		return device, nil
	}
	return nil, nil
}

func deviceFunctions(list []blob.Function) []DeviceFunction {
	all := make([]DeviceFunction, 0, len(list))
	for _, f := range list {
		d := DeviceFunction{Name: f.Key, Args: []string{}, LaunchTags: append([]string{}, f.LaunchParamTags...)}
		for _, t := range f.ArgTypes {
			d.Args = append(d.Args, t.String())
		}
		for _, tag := range f.ArgExtraTags {
			if tag != blob.ExtraTagNone {
				d.ExtraTags = f.ArgExtraTags
			}
		}
		all = append(all, d)
	}
	return all
}

// addResources adds what the code says about its kernels. A fatbin may have several kernels of a name: the first is
// shown. Code that cannot be read has none.
func (d *Device) addResources(code *blob.DeviceModule) {
	info, err := cudaimage.Describe(code.Data)
	if err != nil {
		return
	}
	of := map[string]*cudaimage.Resources{}
	for _, p := range info.Parts {
		for _, k := range p.Kernels {
			if of[k.Name] == nil {
				of[k.Name] = k.Resources
			}
		}
	}
	for i, f := range code.Functions {
		d.Functions[i].Resources = of[f.Name]
	}
}
