package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/internal/version"
)

// versionInfo has the versions that a bug report needs.
type versionInfo struct {
	Version  string      `json:"version"`
	Revision string      `json:"revision,omitempty"`
	Time     string      `json:"time,omitempty"`
	Modified bool        `json:"modified,omitempty"` // built from a tree that differs from the revision
	Go       string      `json:"go"`
	Platform string      `json:"platform"`
	ABI      abiVersions `json:"abi"`
}

// abiVersions are the versions of the C interfaces that the headers under include/ declare.
type abiVersions struct {
	Classic string `json:"classic"`
	TVMFFI  string `json:"tvm_ffi"`
	DLPack  string `json:"dlpack"`
}

func newVersionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the versions of the program and of the C interfaces that it supports",
		Args:              exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := readVersion()
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), v.text())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func readVersion() versionInfo {
	v := versionInfo{Version: version.Number(), Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH}
	v.ABI = abiVersions{Classic: version.Classic, TVMFFI: version.TVMFFI, DLPack: version.DLPack}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "tvmgo %s", v.Version)
	if v.Revision != "" {
		fmt.Fprintf(&out, ", revision %.12s of %s", v.Revision, v.Time)
	}
	if v.Modified {
		out.WriteString(", modified")
	}
	fmt.Fprintf(&out, "\n%s %s\nclassic ABI %s, tvm-ffi ABI %s, DLPack %s\n", v.Go, v.Platform, v.ABI.Classic,
		v.ABI.TVMFFI, v.ABI.DLPack)
	return out.String()
}
