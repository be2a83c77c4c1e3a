//go:build cgo

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

func newDevicesCommand() *cobra.Command {
	return newListCommand("devices", "List the devices of this machine with every attribute, and why others are absent",
		"devices", listDevices, writeDevices)
}

// newListCommand makes a command that queries the drivers and prints a list, as text or as JSON under a key.
func newListCommand[T any](name, short, key string, list func() []T,
	write func(w io.Writer, rows []T) error) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               name,
		Short:             short,
		Args:              exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []T
			err := foreign(cmd.Context(), func() error {
				rows = list()
				return nil
			})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string]any{key: rows})
			}
			return write(cmd.OutOrStdout(), rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// deviceRow is a device, or a type without devices and the reason.
type deviceRow struct {
	Device     string         `json:"device"` // as --device takes it
	Type       string         `json:"type"`
	TypeNumber int32          `json:"type_number"`
	Index      int32          `json:"index"`
	Present    bool           `json:"present"`
	Name       string         `json:"name,omitempty"`
	Reason     string         `json:"reason,omitempty"` // why it is absent
	Threads    int            `json:"threads,omitempty"`
	Attributes map[string]any `json:"attributes"`           // null: the device does not have this attribute
	Properties map[string]any `json:"properties,omitempty"` // further properties that the device reports
	lines      []line         // attributes and properties, in order
	cause      string         // the reason, without the name of the type
}

type line struct {
	name  string
	value any
}

// properties are what devices may report beyond the attributes. They have the names of target options if there are such
// options.
var properties = []string{"arch", "uuid", "pci_bus_id", "memory_clock_rate", "memory_bus_width",
	"max_shared_memory_per_block_optin",
	"max_shared_memory_per_multi_processor", "max_threads_per_multi_processor", "async_engine_count",
	"memory_pools_supported"}

func listDevices() []*deviceRow {
	var list []*deviceRow
	for _, s := range runtime.Devices() {
		row := &deviceRow{Device: s.Device.String(), Type: s.Device.Type.String(), TypeNumber: int32(s.Device.Type),
			Index: s.Device.ID, Present: s.Err == nil, Name: s.Name, Attributes: map[string]any{}}
		if s.Err != nil {
			row.Device, row.Reason = row.Type, reason(s.Err)
			row.cause = strings.ReplaceAll(row.Reason, "open device "+row.Type+": ", "")
		} else {
			row.readAttributes(s.Device)
		}
		list = append(list, row)
	}
	return list
}

// reason returns an error's message without the description of the operation.
func reason(err error) string {
	var e *runtime.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// readAttributes queries all attributes and properties of a device. An attribute that fails does not hide the others.
func (row *deviceRow) readAttributes(dev dlpack.Device) {
	for kind := runtime.AttrExist; kind <= runtime.AttrImagePitchAlignment; kind++ {
		value, err := runtime.DeviceAttr(dev, kind)
		if err != nil {
			value = "error: " + reason(err)
		}
		row.Attributes[snakeCase(kind.String())] = value
		if value != nil && kind != runtime.AttrExist && kind != runtime.AttrDeviceName { // these two are the row's head
			row.lines = append(row.lines, line{snakeCase(kind.String()), value})
		}
	}
	for _, name := range properties {
		value, err := runtime.TargetProperty(dev, name)
		if err != nil {
			value = "error: " + reason(err)
		}
		if value == nil {
			continue
		}
		if row.Properties == nil {
			row.Properties = map[string]any{}
		}
		row.Properties[name] = value
		row.lines = append(row.lines, line{name, value})
	}
	if dev.Type == dlpack.CPU {
		row.Threads = runtime.NumThreads()
	}
}

func writeDevices(w io.Writer, list []*deviceRow) error {
	var text strings.Builder
	explained := map[string]string{} // the first type of each reason
	for _, row := range list {
		fmt.Fprintf(&text, "%-12s ", row.Device)
		switch {
		case !row.Present && explained[row.cause] != "":
			fmt.Fprintf(&text, "absent, as %s\n", explained[row.cause])
			continue
		case !row.Present:
			explained[row.cause] = row.Device
			fmt.Fprintf(&text, "absent: %s\n", row.Reason)
			continue
		case row.Name != "":
			fmt.Fprintf(&text, "%s\n", row.Name)
		default:
			fmt.Fprintf(&text, "present\n")
		}
		if row.Threads > 0 {
			fmt.Fprintf(&text, "  %-24s %d\n", "threads", row.Threads)
		}
		for _, l := range row.lines {
			fmt.Fprintf(&text, "  %-24s %v\n", l.name, l.value)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// snakeCase converts MaxThreadsPerBlock into max_threads_per_block, and APIVersion into api_version.
func snakeCase(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, c := range runes {
		if i > 0 && unicode.IsUpper(c) {
			startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if startsWord || !unicode.IsUpper(runes[i-1]) {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// devicesHere lists the devices of this machine, in the form of --device.
func devicesHere([]string) []string {
	var names []string
	for _, s := range runtime.Devices() {
		if s.Err == nil {
			names = append(names, s.Device.String())
		}
	}
	return names
}
