//go:build !runtimeonly

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/internal/nearest"
	"tvmgo/target"
)

func newTargetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "target",
		Short: "List target kinds, options and tags; show and check targets",
		Long: `List target kinds, options and tags; show and check targets.

A TARGET is a tag (nvidia/h100), a kind (cuda), a command line
('cuda -arch=sm_90'), JSON, the name of a file with JSON (write ./cuda if a kind
or a tag has the same name), or - for JSON on standard input.`,
		Args: noSuchCommand,
		RunE: help,

		SuggestionsMinimumDistance: 2,
		PersistentPreRun: func(*cobra.Command, []string) { // the commands print warnings themselves
			slog.SetDefault(slog.New(slog.DiscardHandler))
		},
	}
	cmd.AddCommand(newTargetListCommand(), newTargetShowCommand(), newTargetTagsCommand(), newTargetCheckCommand(),
		newTargetSchemaCommand())
	cmd.SetFlagErrorFunc(targetFlagError)
	return cmd
}

// targetFlagError explains quoting to users who write options of a target as flags of the program.
func targetFlagError(cmd *cobra.Command, err error) error {
	if strings.HasPrefix(cmd.Use, "show ") || strings.HasPrefix(cmd.Use, "check ") {
		err = fmt.Errorf("%w: a target with options is one argument, in quotes: 'cuda -arch=sm_90'", err)
	}
	return err
}

// kindRow is a kind, and an optionRow one of its options, as --json prints them.
type kindRow struct {
	Kind       string      `json:"kind"`
	Device     string      `json:"device"`
	DeviceType int32       `json:"device_type"`
	Keys       []string    `json:"keys"`
	Composite  bool        `json:"composite,omitempty"`
	Options    []optionRow `json:"options"`
}

type optionRow struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Aliases []string `json:"aliases,omitempty"`
	Default any      `json:"default,omitempty"`
	Min     *int64   `json:"min,omitempty"`
	Max     *int64   `json:"max,omitempty"`
	Values  []string `json:"values,omitempty"`
	Prefix  string   `json:"prefix,omitempty"`
	Pattern string   `json:"pattern,omitempty"`
	Help    string   `json:"help,omitempty"`
}

func newTargetListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "list [KIND]",
		Short:             "List the target kinds, or the options of one",
		Args:              atMost(1),
		ValidArgsFunction: first(target.Kinds),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := target.Kinds()
			if len(args) == 1 {
				names = args
			}
			rows := make([]kindRow, len(names))
			for i, n := range names {
				k, err := target.LookupKind(n)
				if err != nil {
					return err
				}
				rows[i] = rowOfKind(k)
			}
			switch out := cmd.OutOrStdout(); {
			case asJSON && len(args) == 1:
				return writeJSON(out, rows[0])
			case asJSON:
				return writeJSON(out, map[string]any{"kinds": rows})
			case len(args) == 1:
				return writeKind(out, rows[0])
			default:
				return writeKinds(out, rows)
			}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func rowOfKind(k *target.Kind) kindRow {
	row := kindRow{Kind: k.Name(), Device: k.DeviceType().String(), DeviceType: int32(k.DeviceType()),
		Keys:      append([]string{}, k.DefaultKeys()...),
		Composite: k.IsComposite()}
	for _, o := range k.Options() {
		row.Options = append(row.Options, optionRow{Name: o.Name, Type: o.Type.String(), Aliases: o.Aliases,
			Default: o.Default,
			Min:     o.Min, Max: o.Max, Values: o.Values, Prefix: o.Prefix, Pattern: o.Pattern, Help: o.Help})
	}
	return row
}

func writeKinds(w io.Writer, rows []kindRow) error {
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "%-12s %-8s %s\n", r.Kind, r.Device, strings.Join(r.Keys, ","))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeKind(w io.Writer, r kindRow) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: device %s, keys %s\n", r.Kind, r.Device, strings.Join(r.Keys, ","))
	for _, o := range r.Options {
		line := fmt.Sprintf("  %-32s %-20s", o.Name, o.Type)
		if o.Default != nil {
			line += fmt.Sprintf(" = %v", o.Default)
		}
		if o.Help != "" {
			line += "  " + o.Help
		}
		line += o.limits()
		if len(o.Aliases) > 0 {
			line += " (also " + strings.Join(o.Aliases, ", ") + ")"
		}
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// limits describes the valid values, in addition to the type.
func (o optionRow) limits() string {
	var all string
	switch {
	case o.Min != nil && o.Max != nil:
		all = fmt.Sprintf(" (%d to %d)", *o.Min, *o.Max)
	case o.Min != nil:
		all = fmt.Sprintf(" (at least %d)", *o.Min)
	case o.Max != nil:
		all = fmt.Sprintf(" (at most %d)", *o.Max)
	}
	if len(o.Values) > 0 {
		all += " (one of " + strings.Join(o.Values, ", ") + ")"
	}
	if o.Prefix != "" {
		all += " (starts with " + o.Prefix + ")"
	}
	if o.Pattern != "" {
		all += " (matches " + o.Pattern + ")"
	}
	return all
}

func newTargetShowCommand() *cobra.Command {
	asJSON, host := false, ""
	cmd := &cobra.Command{
		Use:               "show TARGET [--host TARGET]",
		Short:             "Show every value of a target, given or default",
		Args:              exactly(1),
		ValidArgsFunction: targetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := argumentTarget(cmd, args[0])
			if err == nil && cmd.Flags().Changed("host") {
				t, err = withHost(cmd, t, host)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string]any{"target": t, "cli": t.String(), "hash": hashOf(t),
					"warnings": orEmpty(t.Warnings())})
			}
			warn(cmd.ErrOrStderr(), t)
			return writeTarget(cmd.OutOrStdout(), t)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&host, "host", "", "the host of the target, instead of its own")
	completeFlag(cmd, "host", targetFlag)
	return cmd
}

func withHost(cmd *cobra.Command, t *target.Target, host string) (*target.Target, error) {
	h, err := argumentTarget(cmd, host)
	if err != nil {
		return nil, fmt.Errorf("--host: %w", err)
	}
	return t.WithHost(h)
}

func hashOf(t *target.Target) string { return fmt.Sprintf("%016x", t.Hash()) }

func orEmpty(s []string) []string { return append([]string{}, s...) }

func warn(w io.Writer, t *target.Target) {
	for _, s := range t.Warnings() {
		fmt.Fprintln(w, "warning:", s)
	}
}

func writeTarget(w io.Writer, t *target.Target) error {
	var text strings.Builder
	put := func(name string, v any) { fmt.Fprintf(&text, "%-32s %v\n", name, v) }
	put("kind", t.Kind())
	put("device", t.DeviceType())
	if t.Tag() != "" {
		put("tag", t.Tag())
	}
	put("keys", strings.Join(t.Keys(), ","))
	attrs := t.Attrs()
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		switch v := attrs[name].(type) {
		case []string:
			put(name, strings.Join(v, ","))
		case []*target.Target:
			for i, m := range v {
				put(fmt.Sprintf("%s[%d]", name, i), m)
			}
		default:
			put(name, v)
		}
	}
	if t.Host() != nil {
		put("host", t.Host())
	}
	put("hash", hashOf(t))
	_, err := io.WriteString(w, text.String())
	return err
}

// argumentTarget calls readTarget for an argument of a command.
func argumentTarget(cmd *cobra.Command, arg string) (t *target.Target, err error) {
	err = foreign(cmd.Context(), func() error { // standard input may be a terminal
		t, err = readTarget(cmd.InOrStdin(), arg)
		return err
	})
	return t, err
}

// readTarget makes a target from an argument, which it tries in this order: a kind or a tag; the name of a file; a
// command line or JSON.
func readTarget(stdin io.Reader, arg string) (*target.Target, error) {
	if arg == "-" {
		return readTargetText(stdin, "standard input")
	}
	if _, err := target.LookupKind(arg); err == nil {
		return target.New(arg)
	}
	if _, err := target.LookupTag(arg); err == nil {
		return target.New(arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: want the name of a file with JSON, a tag, a kind, a command line or JSON",
			arg)
	case err == nil:
		file, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return readTargetText(file, arg)
	case !isPath(arg):
		return target.New(arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file", arg)
	}
	return nil, err
}

// isPath reports whether an argument is a file name: kinds, tags, command lines and JSON do not start or end like that.
func isPath(arg string) bool {
	for _, start := range []string{"/", "./", "../", "~"} {
		if strings.HasPrefix(filepath.ToSlash(arg), start) {
			return true
		}
	}
	return filepath.VolumeName(arg) != "" || strings.HasSuffix(arg, ".json")
}

// readTargetText reads the JSON of a target.
func readTargetText(r io.Reader, name string) (*target.Target, error) {
	text, err := io.ReadAll(io.LimitReader(r, target.MaxText+1))
	var t *target.Target
	if err == nil {
		t, err = target.New(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func newTargetTagsCommand() *cobra.Command {
	asJSON, key := false, ""
	cmd := &cobra.Command{
		Use:               "tags [PREFIX] [--key KEY]",
		Short:             "List tags: all, those with a name that starts with PREFIX, or those with a key",
		Args:              atMost(1),
		ValidArgsFunction: first(tagNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			list := target.Tags()
			if key != "" {
				list = target.TagsWithKey(key)
			}
			if len(args) == 1 {
				list = slices.DeleteFunc(list, func(t target.TagInfo) bool { return !startsWith(t, args[0]) })
			}
			if len(list) == 0 {
				return noTags(key, args)
			}
			if asJSON {
				return writeTagsJSON(cmd.OutOrStdout(), list)
			}
			var text strings.Builder
			for _, t := range list {
				line := fmt.Sprintf("%-40s %-8s %-24s %s", t.Name, t.Kind, strings.Join(t.Keys, ","), strings.Join(t.Aliases, " "))
				fmt.Fprintln(&text, strings.TrimRight(line, " "))
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&key, "key", "", "list only tags whose targets have this key, for example mali")
	completeFlag(cmd, "key", tagKeys)
	return cmd
}

// startsWith reports whether a tag's name or one of its aliases starts with a prefix.
func startsWith(t target.TagInfo, prefix string) bool {
	return slices.ContainsFunc(append(t.Aliases, t.Name), func(name string) bool {
		return strings.HasPrefix(name,
			prefix)
	})
}

// noTags is the error for an empty list, for example after a misspelled name.
func noTags(key string, prefix []string) error {
	all, wanted, near := target.Tags(), []string(nil), ""
	meant := func(name string, of func(target.TagInfo) []string) {
		var names []string
		for _, t := range all {
			names = append(names, of(t)...)
		}
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) {
			return // no tag meets the other condition
		}
		if n := nearest.Name(name, names); n != "" {
			near = fmt.Sprintf("; did you mean %q?", n)
		}
	}
	if len(prefix) == 1 {
		wanted = append(wanted, fmt.Sprintf("a name that starts with %q", prefix[0]))
		meant(prefix[0], func(t target.TagInfo) []string { return append(t.Aliases, t.Name) })
	}
	if key != "" {
		wanted = append(wanted, fmt.Sprintf("the key %q", key))
		meant(key, func(t target.TagInfo) []string { return t.Keys })
	}
	return fmt.Errorf("target tags: no tag has %s%s", strings.Join(wanted, " and "), near)
}

type tagRow struct {
	Tag     string   `json:"tag"`
	Version string   `json:"version,omitempty"`
	Aliases []string `json:"aliases"`
	Kind    string   `json:"kind"`
	Keys    []string `json:"keys"`
	Hash    string   `json:"hash"`
}

func writeTagsJSON(w io.Writer, list []target.TagInfo) error {
	rows := make([]tagRow, len(list))
	for i, t := range list {
		rows[i] = tagRow{Tag: t.Name, Version: t.Version, Aliases: orEmpty(t.Aliases), Kind: t.Kind, Keys: orEmpty(t.Keys),
			Hash: t.Hash}
	}
	return writeJSON(w, map[string]any{"tags": rows})
}

func newTargetCheckCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "check TARGET",
		Short:             "Check a target, and explain what is wrong with it",
		Args:              exactly(1),
		ValidArgsFunction: targetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := argumentTarget(cmd, args[0])
			switch {
			case asJSON && err != nil:
				if werr := writeJSON(cmd.OutOrStdout(), map[string]any{"valid": false, "error": rowOfError(err)}); werr != nil {
					return werr
				}
				return err
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), map[string]any{"valid": true, "target": t, "warnings": orEmpty(t.Warnings())})
			}
			warn(cmd.ErrOrStderr(), t)
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: %s\n", t)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the error if there is one")
	return cmd
}

type errorRow struct {
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	Nearest  string `json:"nearest,omitempty"`
}

func rowOfError(err error) errorRow {
	row := errorRow{Message: err.Error()}
	var e *target.Error
	if errors.As(err, &e) {
		row.Path, row.Expected, row.Found, row.Nearest = e.Path, e.Expected, e.Found, e.Nearest
	}
	return row
}

func newTargetSchemaCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "schema [KIND]",
		Short:             "Print the JSON Schema of the targets of a kind, or of all kinds",
		Args:              atMost(1),
		ValidArgsFunction: first(target.Kinds),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := ""
			if len(args) == 1 {
				kind = args[0]
			}
			schema, err := target.Schema(kind)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(schema)))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "has no effect: a schema is JSON")
	return cmd
}
