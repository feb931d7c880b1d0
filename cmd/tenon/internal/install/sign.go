package install

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
)

func signCommand(a *cli.App) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "sign FILE...", Short: "Sign archives and modules with a minisign key", Args: cli.Args(1, -1, "a file"),
		Long: `Write FILE` + source.MinisignSuffix + ` next to each file. Publish both: users require the signature with plugin_policy or
tenon plugin install --key. minisign -G creates a key; tenon reads its password from the terminal or stdin.`,
		RunE: func(_ *cobra.Command, files []string) error {
			if key == "" {
				key = filepath.Join(a.Env.Lookup("HOME"), ".minisign", "minisign.key") // the default of minisign
			}
			path, err := filepath.Abs(key)
			if err != nil {
				return err
			}
			secret, err := os.ReadFile(path)
			if err != nil {
				return cli.UsageError("minisign -G makes a key; name it with --key", "secret key: %w", err)
			}
			return signFiles(a, files, string(secret))
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "secret key `file` of minisign (default ~/.minisign/minisign.key)")
	return cmd
}

// signFiles asks for the password of an encrypted key.
func signFiles(a *cli.App, files []string, secret string) error {
	password := ""
	for i, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		path, key, err := signature.Sign(file, secret, password)
		if i == 0 && errors.Is(err, signature.ErrPassword) {
			if password, err = a.AskSecret("password of the key"); err != nil {
				return err
			}
			path, key, err = signature.Sign(file, secret, password)
		}
		if errors.Is(err, signature.ErrPassword) {
			return cli.UsageError("enter the password of the key, or pipe it to stdin", "%w", err)
		}
		if err != nil {
			return err
		}
		a.Screen.Line("signed " + terminal.Visible(path) + " by " + key.String())
	}
	return nil
}
