// Command sbom writes a bill of materials of programs and libraries that Go built: what is linked into them, with
// versions, checksums and licences, as an SPDX 2.3 document.
//
//	sbom -name NAME -created TIME -o FILE [-licences DIR] [-c NAME=VERSION=LICENCE]… BINARY…
//
// The modules are those that Go records in a binary. Their licences are read from their files, which have to be in the
// module cache; an unknown licence is an error. With -licences, the files are copied to a folder, as most licences
// require of those who distribute a binary. -c adds C code that the C compiler links, which Go does not record.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	name := flags.String("name", "", "name of the document: the package that has the binaries")
	created := flags.String("created", "", "time of the document, such as 2026-01-02T03:04:05Z")
	out := flags.String("o", "", "file to write")
	licences := flags.String("licences", "", "folder for the texts of the licences")
	var extra []component
	flags.Func("c", "NAME=VERSION=LICENCE of C code that is linked in", func(s string) error {
		words := strings.Split(s, "=")
		if len(words) != 3 || words[0] == "" || words[2] == "" {
			return errors.New("it must be NAME=VERSION=LICENCE")
		}
		extra = append(extra, component{name: words[0], version: words[1], licence: words[2]})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" || *out == "" || flags.NArg() == 0 {
		return errors.New("usage: sbom -name NAME -created TIME -o FILE [-licences DIR] [-c NAME=VERSION=LICENCE]… BINARY…")
	}
	when, err := time.Parse(time.RFC3339, *created)
	if err != nil {
		return fmt.Errorf("-created: %w", err)
	}
	own, all, err := linked(flags.Args())
	if err != nil {
		return err
	}
	for i := range all {
		if err := all[i].readLicence(); err != nil {
			return err
		}
	}
	all = append(all, extra...)
	text, err := json.MarshalIndent(document(*name, when, own, all), "", "  ")
	if err != nil {
		return err
	}
	if *licences != "" {
		if err := copyLicences(*licences, all); err != nil {
			return err
		}
	}
	return os.WriteFile(*out, append(text, '\n'), 0o644)
}
