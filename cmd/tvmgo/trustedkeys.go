package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"tvmgo/trust"
)

// Code of a file runs in child processes, which check signatures by the variable of the environment; that of models
// runs in the server itself.

// The flag's name, and what it does.
const (
	trustedKeysName  = "trusted-keys"
	trustedKeysUsage = "file or folder of public keys: load only what is signed with one of them (tvmgo sign)"
)

// trustedKeysFlag adds the flag --trusted-keys, whose value withTrust gets.
func trustedKeysFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, trustedKeysName, "", trustedKeysUsage)
}

// readTrusted reads the keys that the flag names.
func readTrusted(path string) (*trust.Keys, error) {
	keys, err := trust.ReadKeys(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", trustedKeysName, err)
	}
	return keys, nil
}

type trustedKeys struct{}

// withTrust returns a context whose child processes load only what is signed with a key of a file or folder; "" is
// none.
func withTrust(ctx context.Context, path string) (context.Context, error) {
	if path == "" {
		return ctx, nil
	}
	if _, err := readTrusted(path); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", trustedKeysName, err)
	}
	return context.WithValue(ctx, trustedKeys{}, path), nil
}

// childEnvironment returns the environment of the child processes of a context.
func childEnvironment(ctx context.Context) []string {
	env := os.Environ()
	if path, ok := ctx.Value(trustedKeys{}).(string); ok {
		env = append(env, "TVMGO_TRUSTED_KEYS="+path)
	}
	return env
}
