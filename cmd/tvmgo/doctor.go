package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
	"tvmgo/runtime/opencl"
	"tvmgo/runtime/vulkan"
)

func newDoctorCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "doctor",
		Short:             "Check each device API: which library was opened, or what is wrong and how to correct it",
		Args:              exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []*finding
			err := foreign(cmd.Context(), func() error {
				list = examine()
				return nil
			})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string]any{"apis": list})
			}
			return writeFindings(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// finding is what there is to say of an API.
type finding struct {
	API       string   `json:"api"`
	Built     bool     `json:"built"` // whether this program knows the API
	Usable    bool     `json:"usable"`
	Verdict   string   `json:"verdict"` // in one line; for an API that fails, the text that is in errors
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"` // of CUDA, the newest that the driver knows; of Vulkan, as agreed on with the loader
	Platforms []string `json:"platforms,omitempty"`
	Drivers   []string `json:"drivers,omitempty"` // of Vulkan's devices, with the type of memory that their data is in
	Devices   []string `json:"devices,omitempty"`
	Lacks     []string `json:"lacks,omitempty"`    // functions that the library does not have; what needs them fails, and says so
	LeftOut   []string `json:"left_out,omitempty"` // drivers and devices that are not used, and why
}

// apis are those that have a line even where this program does not know them.
var apis = []dlpack.DeviceType{dlpack.CPU, dlpack.OpenCL, dlpack.CUDA, dlpack.Vulkan}

// examine asks every API for its devices.
func examine() []*finding {
	found := map[dlpack.DeviceType]*finding{}
	var list []*finding
	add := func(t dlpack.DeviceType) *finding {
		f := &finding{API: t.String(), Verdict: "not part of this build"}
		found[t], list = f, append(list, f)
		return f
	}
	for _, t := range apis {
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

// explain says by what the devices of an API came about.
func (f *finding) explain() {
	f.Verdict = "usable: " + strings.Join(f.Devices, ", ")
	switch f.API {
	case dlpack.CPU.String():
		f.Verdict += fmt.Sprintf(", %d threads", runtime.NumThreads())
	case dlpack.OpenCL.String():
		d := opencl.Loaded()
		f.Library, f.Platforms, f.Lacks, f.LeftOut = d.Library, d.Platforms, d.Lacks, d.LeftOut
		f.Verdict += fmt.Sprintf("; opened %s, platform %s", f.Library, strings.Join(f.Platforms, ", platform "))
	case dlpack.CUDA.String():
		d := cuda.Loaded()
		f.Library, f.Version, f.Lacks, f.LeftOut = d.Library, d.Version, d.Lacks, d.LeftOut
		f.Verdict += fmt.Sprintf("; opened %s, the driver of CUDA %s", f.Library, f.Version)
	case dlpack.Vulkan.String():
		d := vulkan.Loaded()
		f.Library, f.Version, f.Drivers, f.LeftOut = d.Library, d.Version, d.Devices, d.LeftOut
		f.Verdict += fmt.Sprintf("; opened %s, Vulkan %s: %s", f.Library, f.Version, strings.Join(f.Drivers, ", "))
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
