package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/internal/modulekind"
	"tvmgo/runtime"
)

func newDoctorCommand() *cobra.Command {
	return newListCommand("doctor",
		"Check each device API: which library was opened, or what is wrong and how to correct it", "apis", examine,
		writeFindings)
}

// finding is the report on a device API.
type finding struct {
	device dlpack.DeviceType

	API       string   `json:"api"`
	Built     bool     `json:"built"` // whether this program knows the API
	Usable    bool     `json:"usable"`
	Verdict   string   `json:"verdict"` // in one line; for an API that fails, the text that is in errors
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"`
	Platforms []string `json:"platforms,omitempty"`
	Drivers   []string `json:"drivers,omitempty"`
	Devices   []string `json:"devices,omitempty"`
	// functions that the library does not have; what needs them fails, and says so
	Lacks   []string `json:"lacks,omitempty"`
	LeftOut []string `json:"left_out,omitempty"` // drivers and devices that are not used, and why
}

// apis are those that have a line even where this program does not know them: of the CPU, and of the module kinds that
// packages of this module run.
func apis() []dlpack.DeviceType {
	list := []dlpack.DeviceType{dlpack.CPU}
	for _, k := range modulekind.All() {
		if t, err := dlpack.ParseDeviceType(k.Name); err == nil && k.Import != "" {
			list = append(list, t)
		}
	}
	slices.Sort(list)
	return list
}

// examine asks every API for its devices.
func examine() []*finding {
	found := map[dlpack.DeviceType]*finding{}
	var list []*finding
	add := func(t dlpack.DeviceType) *finding {
		f := &finding{device: t, API: t.String(), Verdict: "not part of this build"}
		found[t], list = f, append(list, f)
		return f
	}
	for _, t := range apis() {
		add(t)
	}
	for _, s := range runtime.Devices() {
		if s.Device.Type == dlpack.CUDAHost || s.Device.Type == dlpack.CUDAManaged {
			continue // further memory of the devices of CUDA
		}
		f := found[s.Device.Type]
		if f == nil {
			f = add(s.Device.Type)
		}
		f.Built = true
		if s.Err != nil {
			f.Verdict = reason(s.Err)
			continue
		}
		f.Usable = true
		name := s.Device.String()
		if s.Name != "" {
			name += " " + s.Name
		}
		f.Devices = append(f.Devices, name)
	}
	for _, f := range list {
		if f.Usable {
			f.explain()
		}
	}
	return list
}

// explain adds which driver the devices of an API use.
func (f *finding) explain() {
	f.Verdict = "usable: " + strings.Join(f.Devices, ", ")
	if d, ok := runtime.DriverOf(f.device); ok {
		f.Library, f.Version, f.Platforms, f.Drivers = d.Library, d.Version, d.Platforms, d.Drivers
		f.Lacks, f.LeftOut = d.Lacks, d.LeftOut
		if d.Library != "" {
			f.Verdict += "; opened " + d.Library
		}
		f.Verdict += ", " + d.Summary
	}
	if n := len(f.Lacks); n > 0 {
		const most = 6
		f.Verdict += fmt.Sprintf("; %s has no function %s", f.Library, strings.Join(f.Lacks[:min(n, most)], ", "))
		if n > most {
			f.Verdict += fmt.Sprintf(" and %d more (--json lists them)", n-most)
		}
	}
	if len(f.LeftOut) > 0 {
		f.Verdict += "; not used: " + strings.Join(f.LeftOut, "; ")
	}
}

func writeFindings(w io.Writer, list []*finding) error {
	var text strings.Builder
	for _, f := range list {
		verdict := f.Verdict
		if f.Built && !f.Usable {
			verdict = "not usable: " + verdict
		}
		// One line each, whatever a driver writes.
		fmt.Fprintf(&text, "%-8s %s\n", f.API, strings.Join(strings.Fields(verdict), " "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
