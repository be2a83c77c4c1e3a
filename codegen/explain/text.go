package explain

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// WriteText writes a report as a table for people.
func (r *Report) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "target %s", r.Target)
	if r.Machine != "" {
		fmt.Fprintf(&b, " (peak figures of %s)", r.Machine)
	}
	b.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(r.Sizes)) {
		fmt.Fprintf(&b, "size %s = %d\n", name, r.Sizes[name])
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for _, k := range r.Kernels {
		b.WriteString("\n")
		k.write(&b, int64(r.WarpSize))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (k *Kernel) write(b *strings.Builder, warpSize int64) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(b, "kernel %s\n", k.Name)
	grid := strings.Join(k.GridText[:], " x ")
	if k.Grid != nil {
		grid = times(k.Grid)
	}
	if k.ThreadsPerBlock > 0 {
		row("launch", "grid %s, block %s: %d threads, %d warps", grid, times(k.Block), k.ThreadsPerBlock,
			ceilDiv(k.ThreadsPerBlock, warpSize))
	} else {
		row("launch", "grid %s", grid)
	}
	resources := "registers not known"
	if r := k.Resources; r != nil {
		resources = fmt.Sprintf("registers %d, spills %d bytes stored, %d loaded", r.Registers, r.SpillStores, r.SpillLoads)
	}
	row("resources", "%s; shared memory %s", resources, bytesText(float64(k.SharedBytes)))
	if o := k.Occupancy; o != nil {
		text := fmt.Sprintf("%.0f %%: %d blocks, %d of %d warps of a multiprocessor; limited by %s", 100*o.Fraction,
			o.Blocks, o.Warps, o.MaxWarps, strings.Join(o.LimitedBy, ", "))
		if o.Waves > 0 {
			text += fmt.Sprintf("; %s waves", short(o.Waves))
		}
		row("occupancy", "%s", text)
	}
	for _, l := range k.Limits {
		row("limit", "%s: %d of %d", l.Name, l.Used, l.Limit)
	}
	if w := k.Work; w != nil {
		row("memory", "%s read, %s written, %s moved; the tensors have %s and %s", bytesText(w.BytesRead),
			bytesText(w.BytesWritten), bytesText(w.BytesMoved), bytesText(w.FootprintRead), bytesText(w.FootprintWrite))
		text := fmt.Sprintf("%s operations, %s for each byte, %s for each byte of the tensors", count(w.Operations),
			short(w.Intensity), short(w.Reuse))
		if w.Bound != "" {
			text += fmt.Sprintf("; bound by %s, at least %s us", w.Bound, short(1e6*w.AtLeastSeconds))
		}
		if w.Estimated {
			text += "; estimated: it depends on data"
		}
		row("work", "%s", text)
	}
	for _, note := range k.Notes {
		row("note", "%s", note)
	}
	var list [][4]string
	var width [4]int
	for _, a := range k.Accesses {
		fields := [4]string{a.Scope + " " + a.Op, fmt.Sprintf("%d bytes", a.Bytes), a.figures(), a.Index}
		list = append(list, fields)
		for i, f := range fields {
			width[i] = max(width[i], len(f))
		}
	}
	for i, f := range list {
		fmt.Fprintf(b, "  %-*s  %*s  %-*s  %-*s  %s\n", width[0], f[0], width[1], f[1], width[2], f[2], min(width[3], 40),
			f[3], k.Accesses[i].Path)
	}
}

// figures describes the requests of an access.
func (a *Access) figures() string {
	text := "not executed"
	if f := a.Sectors; f != nil {
		text = fmt.Sprintf("%s sectors of %s", short(f.Average), short(f.Minimal))
		if f.Worst > math.Ceil(f.Average) {
			text += fmt.Sprintf(", worst %s", short(f.Worst))
		}
	}
	if f := a.Ways; f != nil {
		text = "no conflict"
		if f.Worst > 1 {
			text = fmt.Sprintf("%s-way conflict", short(f.Average))
			if f.Worst > math.Ceil(f.Average) {
				text += fmt.Sprintf(", worst %s", short(f.Worst))
			}
		}
	}
	if a.DataDependent {
		text += " at worst: the index depends on data"
	}
	return text
}

func times(n []int64) string { return fmt.Sprintf("%d x %d x %d", n[0], n[1], n[2]) }

// short formats a number with at most two decimals.
func short(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".")
}

func bytesText(n float64) string {
	unit := 0
	for n >= 10000 && unit < 4 {
		n /= 1024
		unit++
	}
	return short(n) + " " + []string{"B", "KiB", "MiB", "GiB", "TiB"}[unit]
}

func count(n float64) string {
	unit := 0
	for n >= 10000 && unit < 4 {
		n /= 1000
		unit++
	}
	return short(n) + []string{"", " thousand", " million", " billion", " trillion"}[unit]
}
