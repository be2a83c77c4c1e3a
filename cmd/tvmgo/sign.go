package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/cmd/tvmgo/internal/outfile"
	"tvmgo/internal/atomicfile"
	"tvmgo/trust"
)

// signFlags holds the flags of sign.
type signFlags struct {
	key, comment, output string
	generate             string
	noPassword           bool
	passwordFile         string
	verify               bool
	trusted              string
}

func newSignCommand() *cobra.Command {
	f := signFlags{}
	cmd := &cobra.Command{
		Use:   "sign FILE... --key SECRET.key",
		Short: "Sign module files, check signatures, and make keys; executes nothing",
		Long: `Sign files, so that those who trust the public key can check where they come
from. The signature of model.so is written to model.so.minisig, in the format of
the tool minisign.

  tvmgo sign --generate release                 make release.key and release.pub
  tvmgo sign model.so --key release.key         write model.so.minisig
  tvmgo sign --verify model.so --trusted-keys release.pub

Keep the secret key (.key) to yourself, and give the public key (.pub) to those
who load the files. A secret key is encrypted with a password, which is read
from the terminal, or from the first line of the file that --password-file
names. --trusted-keys is a file of public keys, or a folder with .pub files.

--verify checks signatures, in the same way as run, verify, inspect --load and
bench with --trusted-keys, and prints who signed the files. The exit status is 1
if a file is not signed, was changed, or was signed with another key.`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{writesAtTheEnd: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return wrong(err)
			}
			switch {
			case f.generate != "":
				return f.makeKeys(cmd)
			case f.verify:
				return f.verifyFiles(cmd, args)
			}
			return f.sign(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "file of the secret key to sign with")
	flags.StringVar(&f.comment, "comment", "",
		"trusted comment: signed, and shown by --verify (default: time and file name)")
	flags.StringVarP(&f.output, "output", "o", "", "file of the signature (default: FILE.minisig)")
	flags.StringVar(&f.generate, "generate", "", "make a key: NAME.key and NAME.pub, which must not exist yet")
	flags.BoolVar(&f.noPassword, "no-password", false, "with --generate: do not encrypt the secret key")
	flags.StringVar(&f.passwordFile, "password-file", "", "file whose first line is the password of the secret key")
	flags.BoolVar(&f.verify, "verify", false, "check the signatures of the files")
	flags.StringVar(&f.trusted, "trusted-keys", "", "with --verify: file or folder of public keys")
	return cmd
}

// check rejects invalid command lines.
func (f *signFlags) check(cmd *cobra.Command, args []string) error {
	type mode struct {
		name  string
		flags []string
	}
	m := mode{"without --generate and --verify", []string{"key", "comment", "output", "password-file"}}
	switch {
	case f.generate != "" || cmd.Flags().Changed("generate"):
		m = mode{"with --generate", []string{"generate", "no-password", "password-file"}}
	case f.verify:
		m = mode{"with --verify", []string{"verify", "trusted-keys"}}
	}
	for _, name := range []string{"key", "comment", "output", "generate", "no-password", "password-file", "verify",
		"trusted-keys"} {
		wanted := false
		for _, allowed := range m.flags {
			wanted = wanted || name == allowed
		}
		if cmd.Flags().Changed(name) && !wanted {
			return fmt.Errorf("sign: --%s has no meaning %s: leave it out", name, m.name)
		}
	}
	switch {
	case m.name == "with --generate":
		if f.generate == "" || os.IsPathSeparator(f.generate[len(f.generate)-1]) {
			return errors.New("sign: --generate: give the name of the key, for example --generate release")
		}
		if f.noPassword && f.passwordFile != "" {
			return errors.New("sign: give --no-password or --password-file, not both")
		}
		return exactly(0)(cmd, args)
	case len(args) == 0:
		return errors.New("sign: name the files")
	case f.verify && f.trusted == "":
		return errors.New("sign: --verify needs --trusted-keys: the file or folder of the public keys")
	case !f.verify && f.key == "":
		return errors.New("sign: --key is missing: give the secret key that --generate has made")
	case f.output != "" && len(args) > 1:
		return errors.New("sign: -o is for one file: leave it out, and each signature lies beside its file")
	}
	for _, a := range args {
		if strings.HasSuffix(a, trust.SignatureSuffix) {
			return fmt.Errorf("sign: %s is a signature: name the file that it belongs to", a)
		}
	}
	return nil
}

func (f *signFlags) sign(cmd *cobra.Command, files []string) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file + trust.SignatureSuffix
		if f.output != "" {
			names[i] = f.output
		}
	}
	out, err := outfile.New(names)
	if err != nil {
		return err
	}
	key, err := trust.ReadSecretKey(f.key, func() (string, error) {
		return f.password(cmd, "password of "+f.key)
	})
	if err != nil {
		return err
	}
	signatures := make([][]byte, len(files))
	now := time.Now()
	for i, file := range files {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if signatures[i], err = key.SignFile(file, now, f.comment); err != nil {
			return err
		}
	}
	err = out.WriteEach(func(i int, w io.Writer) error {
		_, err := w.Write(signatures[i])
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), "wrote "+strings.Join(names, "\nwrote "), "\n")
	return err
}

func (f *signFlags) verifyFiles(cmd *cobra.Command, files []string) error {
	keys, err := trust.ReadKeys(f.trusted)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range files {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		s, err := keys.VerifyFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s: signed with key %s: %s\n", file, s.KeyID, s.Comment)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text.String())
	return err
}

func (f *signFlags) makeKeys(cmd *cobra.Command) error {
	secretName, publicName := f.generate+".key", f.generate+".pub"
	absent := func() error {
		for _, name := range []string{secretName, publicName} {
			if _, err := os.Lstat(name); err == nil {
				return fmt.Errorf("write %s: it exists already, and a key that is lost cannot be made again: give another "+
					"name, or remove it", name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("write %s: %w", name, atomicfile.Cause(err))
			}
		}
		return nil
	}
	if err := absent(); err != nil {
		return err
	}
	password := ""
	if !f.noPassword {
		var err error
		if password, err = f.newPassword(cmd); err != nil {
			return err
		}
	}
	key, err := trust.Generate()
	if err != nil {
		return err
	}
	secret, err := key.Text(password)
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if err := absent(); err != nil { // since the password was asked for
		return err
	}
	if err := writeKeys(secretName, publicName, secret, key.PublicText()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: keep it secret\nwrote %s: key %s, for those who load your files\n",
		secretName, publicName, key.Public().IDs()[0])
	return err
}

// writeKeys writes both files, or none. Only the user can read the secret key.
func writeKeys(secretName, publicName string, secret, public []byte) (err error) {
	var files []*atomicfile.File
	defer func() {
		for _, f := range files {
			f.Discard() // no effect after Commit
		}
	}()
	for _, f := range []struct {
		name string
		data []byte
		perm fs.FileMode
	}{{secretName, secret, 0o600}, {publicName, public, 0o666}} {
		file, err := atomicfile.Create(f.name, f.perm, atomicfile.ReplaceLinks)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no such folder: create it")
		}
		if err == nil {
			files = append(files, file)
			_, err = file.Write(f.data)
			err = atomicfile.Cause(errors.Join(err, file.Finish()))
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	for i, file := range files {
		if err := file.Commit(); err != nil {
			return fmt.Errorf("write %s: %w", []string{secretName, publicName}[i], err)
		}
	}
	return nil
}
