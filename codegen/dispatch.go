package codegen

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"tvmgo/blob"
	"tvmgo/codegen/abi"
	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/version"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// addDispatch adds the functions that call the variants to the host's code. The devices' modules exist already: which
// devices CUDA code runs on depends on its format.
func (b *build) addDispatch() error {
	part := b.dispatchPart()
	b.root = part
	abouts := map[string]c.About{}
	if err := json.Unmarshal([]byte(b.about), &abouts); err != nil {
		return err
	}
	for _, f := range b.fat.variants[0].Program.Funcs {
		d, err := b.dispatchOf(f)
		if err != nil {
			return err
		}
		text, err := json.Marshal(d)
		if err != nil {
			return err
		}
		g := *f
		g.Attrs = map[string]any{AttrTarget: b.fat.host, c.AttrDispatch: string(text)}
		if doc, ok := f.Attrs[c.AttrDoc]; ok {
			g.Attrs[c.AttrDoc] = doc
		}
		g.Body = &tir.Evaluate{Value: tir.I32(0)}
		part.funcs = append(part.funcs, &g)
		abouts[g.Name] = aboutVariants(d, abouts)
		for _, v := range d.Variants {
			if p := b.partOf(v.Function); p != part && !slices.Contains(part.calls, p) {
				part.calls = append(part.calls, p)
			}
		}
	}
	text, err := json.Marshal(abouts)
	b.about = string(text)
	return err
}

// aboutVariants describes the origin of a function with variants.
func aboutVariants(d *c.Dispatch, abouts map[string]c.About) c.About {
	about := c.About{Builder: version.Builder()}
	hash := sha256.New()
	for _, v := range d.Variants {
		own := abouts[v.Function]
		fmt.Fprintln(hash, own.ContentHash)
		for _, t := range own.Targets {
			t.Function = v.Function
			about.Targets = append(about.Targets, t)
		}
	}
	about.ContentHash = fmt.Sprintf("sha256:%x", hash.Sum(nil))
	return about
}

// dispatchPart returns the part of the host that no other part calls; a new one if each is called.
func (b *build) dispatchPart() *part {
	for _, p := range b.parts {
		called := slices.ContainsFunc(b.parts, func(q *part) bool { return q != p && q.reaches(p) })
		if p.target.Equal(b.fat.host) && !called {
			return p
		}
	}
	p := &part{target: b.fat.host}
	b.parts = append(b.parts, p)
	return p
}

// partOf returns the part that has a function.
func (b *build) partOf(name string) *part {
	i := slices.IndexFunc(b.parts, func(p *part) bool {
		return slices.ContainsFunc(p.funcs, func(f *tir.PrimFunc) bool { return f.Name == name })
	})
	return b.parts[i] // checkNames has found every function
}

// dispatchOf decides how a function selects its variants.
func (b *build) dispatchOf(f *tir.PrimFunc) (*c.Dispatch, error) {
	fat := b.fat
	devices := make([][]int64, len(fat.variants)) // by variant and tensor: where it is
	var tensors []int
	for k, p := range f.Params {
		if f.Buffers[p] != nil {
			tensors = append(tensors, k)
		}
	}
	for i := range fat.variants {
		for _, k := range tensors {
			devices[i] = append(devices[i], b.tensorDevice(fat.variantName(i, f.Name), k))
		}
	}
	if len(tensors) == 0 {
		i := max(slices.IndexFunc(fat.variants, func(v Variant) bool { return isHost(v.Target) }), 0)
		return &c.Dispatch{Param: -1, Variants: b.inOrder(f, i, func(i int) int64 {
			return int64(fat.variants[i].Target.DeviceType())
		})}, nil
	}
	best, most := 0, 0
	for k := range tensors {
		different := map[int64]bool{}
		for i := range devices {
			different[devices[i][k]] = true
		}
		if len(different) > most {
			best, most = k, len(different)
		}
	}
	d := &c.Dispatch{Param: tensors[best]}
	d.Variants = b.inOrder(f, 0, func(i int) int64 { return devices[i][best] })
	return d, b.selectAmong(f, d)
}

// inOrder lists the variants of a function, beginning with variant first.
func (b *build) inOrder(f *tir.PrimFunc, first int, device func(i int) int64) []abi.Variant {
	var all []abi.Variant
	for i := range b.fat.variants {
		v := abi.Variant{Function: b.fat.variantName(i, f.Name), Device: dlpack.DeviceType(device(i)), Target: b.fat.texts[i]}
		all = append(all, v)
	}
	chosen := all[first]
	return slices.Insert(slices.Delete(all, first, first+1), 0, chosen)
}

// leaf returns the target that variant i of a function is built for, which for a composite target is one of its
// members.
func (b *build) leaf(i int, f *tir.PrimFunc) *target.Target {
	return b.found.of(b.fat.variantName(i, f.Name))
}

// tensorDevice returns the device on which a function expects a tensor.
func (b *build) tensorDevice(name string, param int) int64 {
	p := b.partOf(name)
	f := p.funcs[slices.IndexFunc(p.funcs, func(f *tir.PrimFunc) bool { return f.Name == name })]
	for _, key := range []string{transform.AttrDeviceOf(param), transform.AttrDevice} {
		if d, ok := f.Attrs[key].(int64); ok && d != 0 {
			return d
		}
	}
	return int64(p.target.DeviceType())
}

// candidate is a variant among several for one type of device.
type candidate struct {
	abi.Variant
	at     int  // in the list of targets
	cuda   arch // of code for CUDA
	limits [3]int64
}

// limitOptions are options of targets by which variants for one type of device are told apart, with the attributes of
// devices that they are compared with. Warps must have the same size; other limits of the device may be larger.
var limitOptions = [3]struct {
	name      string
	attribute int32
	exact     bool
}{
	{"max_threads_per_block", abi.NeedThreads, false},
	{"max_shared_memory_per_block", abi.NeedShared, false},
	{"thread_warp_size", abi.NeedWarp, true},
}

// selectAmong sorts the variants for each type of device, and sets what they need of a device.
func (b *build) selectAmong(f *tir.PrimFunc, d *c.Dispatch) error {
	var sorted []abi.Variant
	for len(d.Variants) > 0 {
		device := d.Variants[0].Device
		var group []candidate
		d.Variants = slices.DeleteFunc(d.Variants, func(v abi.Variant) bool {
			if v.Device == device {
				group = append(group, candidate{Variant: v, at: b.fat.indexOf(f.Name, v.Function)})
			}
			return v.Device == device
		})
		if err := b.rank(f, group); err != nil {
			return err
		}
		for _, g := range group {
			sorted = append(sorted, g.Variant)
		}
	}
	d.Variants = sorted
	return nil
}

// rank sorts variants for one type of device.
func (b *build) rank(f *tir.PrimFunc, group []candidate) error {
	for k := range group {
		g := &group[k]
		leaf := b.leaf(g.at, f)
		for j, option := range limitOptions {
			g.limits[j], _ = target.Get[int64](leaf, option.name)
		}
		if leaf.DeviceType() == dlpack.CUDA {
			g.cuda = b.archOf(leaf)
		}
	}
	slices.SortStableFunc(group, func(x, y candidate) int {
		if order := compareArchs(x.cuda, y.cuda); order != 0 {
			return order
		}
		return slices.Compare(y.limits[:], x.limits[:])
	})
	for k := range group {
		g := &group[k]
		g.Needs = g.cuda.needs()
		for j, option := range limitOptions {
			differs := slices.ContainsFunc(group, func(other candidate) bool { return other.limits[j] != g.limits[j] })
			if !differs || g.limits[j] <= 0 {
				continue
			}
			need := abi.Need{Attribute: option.attribute, Least: clamp(g.limits[j]), Most: abi.NoLimit}
			if option.exact {
				need.Most = need.Least
			}
			g.Needs = append(g.Needs, need)
		}
		if k > 0 && slices.Equal(g.Needs, group[k-1].Needs) {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s: targets %s and %s are both for %s, and "+
				"nothing selects between them in a call: give them another arch (CUDA), max_threads_per_block, "+
				"max_shared_memory_per_block or thread_warp_size, or build another file for one of them", f.Name,
				group[k-1].Target, g.Target, g.Device)
		}
	}
	return nil
}

func clamp(n int64) int32 { return int32(min(n, abi.NoLimit)) }

// arch is the compute capability that CUDA code is for.
type arch struct {
	number int32  // 806 for 8.6; 0: any
	suffix string // "a": of this architecture alone; "f": of its family
	fixed  bool   // machine code, which runs on devices of the same major number
}

// compareArchs sorts machine code first, then by descending capability; code for one architecture alone comes before
// code for all of the same number.
func compareArchs(x, y arch) int {
	if x.fixed != y.fixed {
		return boolOrder(y.fixed, x.fixed)
	}
	if x.number != y.number {
		return cmp.Compare(y.number, x.number)
	}
	return boolOrder(y.suffix == "a", x.suffix == "a")
}

func (a arch) needs() []abi.Need {
	if a.number == 0 {
		return nil
	}
	need := abi.Need{Attribute: abi.NeedCapability, Least: a.number, Most: abi.NoLimit}
	switch {
	case a.suffix == "a":
		need.Most = a.number
	case a.fixed || a.suffix == "f":
		need.Most = a.number/100*100 + 99
	}
	return []abi.Need{need}
}

var archName = regexp.MustCompile(`^sm_([0-9]+)([0-9])([af]?)$`)

// archOf returns which devices the code for a CUDA target is for: its option arch (mcpu of nvptx), and the format of
// its module.
func (b *build) archOf(t *target.Target) arch {
	name := ""
	for _, option := range []string{"arch", "mcpu"} {
		if text, err := target.Get[string](t, option); err == nil && name == "" {
			name = text
		}
	}
	parts := archName.FindStringSubmatch(name)
	if parts == nil {
		return arch{}
	}
	major, _ := strconv.Atoi(parts[1])
	minor, _ := strconv.Atoi(parts[2])
	return arch{number: int32(major*100 + minor), suffix: parts[3], fixed: b.formatOf(t) == string(cudaimage.CUBIN)}
}

// formatOf returns the format of the device code for a target; "" if it has none.
func (b *build) formatOf(t *target.Target) string {
	for _, p := range b.parts {
		if !p.target.Equal(t) || p.module == nil {
			continue
		}
		if data, err := p.module.SaveToBinary(); err == nil {
			if d, err := blob.ParseDeviceModule(data, blob.Modern); err == nil {
				return d.Format
			}
		}
	}
	return ""
}
