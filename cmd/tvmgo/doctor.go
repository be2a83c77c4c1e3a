//go:build cgo

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
	Verdict   string   `json:"verdict"` // one line; for an API that fails, the text of its errors
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"`
	Platforms []string `json:"platforms,omitempty"`
	Drivers   []string `json:"drivers,omitempty"`
	Devices   []string `json:"devices,omitempty"`
	// functions that the library does not have; operations that need them fail with an error that names them
	Lacks   []string `json:"lacks,omitempty"`
	LeftOut []string `json:"left_out,omitempty"` // drivers and devices that are not used, and why
}

// apis are the APIs that have a line even if this program does not contain them: the CPU, and those whose module kinds
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

// examine queries the devices of every API.
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
			continue // other memory of CUDA devices
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

// explain adds the drivers that the devices of an API use.
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
		// One line each, even if the text of a driver has several.
		fmt.Fprintf(&text, "%-8s %s\n", f.API, strings.Join(strings.Fields(verdict), " "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
