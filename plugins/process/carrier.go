package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// Carrier returns the carrier of processes.
func Carrier() remote.Carrier {
	return remote.Carrier{Name: sdk.CarrierProcess, How: how, Check: check, New: newOpener}
}

func newOpener(e remote.Environment) remote.Opener {
	return New(Options{Environ: e.Environ, Host: e.Host, Unconfined: e.Unconfined})
}

func how(rt *sdk.Runtime, unconfined error) string {
	how := "a confined process: it can access only its package, its data, what is listed here, and the network"
	if unconfined != nil {
		how = "a process with your rights, NOT confined (" + unconfined.Error() + "): it can read and change everything that you can"
	}
	if len(rt.Command) > 0 {
		how += "; starts " + strings.Join(rt.Command, " ")
	}
	return how
}

// check replaces the command by the one for this platform.
func check(c remote.Checker, where string, rt *sdk.Runtime) {
	if rt.Module != "" {
		c.Problem(checked.Join(where, "module"), "remove it", "a process plugin has a command and no module")
	}
	if rt.MemoryMB != 0 || rt.State != "" {
		c.Problem(where, "remove memory and state", "memory and state are for wasm plugins")
	}
	platforms, here := checked.Join(where, "platforms"), runtime.GOOS+"/"+runtime.GOARCH
	for _, platform := range slices.Sorted(maps.Keys(rt.Platforms)) {
		field := checked.Join(platforms, platform)
		if goos, goarch, _ := strings.Cut(platform, "/"); !isWord(goos) || !isWord(goarch) {
			c.Problem(field, `write GOOS/GOARCH, such as "linux/amd64"`, "invalid platform %.80q", platform)
		}
		c.Command(field, rt.Platforms[platform])
	}
	own, field := rt.Platforms[here], checked.Join(platforms, here)
	if own == nil {
		own, field = rt.Command, checked.Join(where, "command")
	}
	switch {
	case len(rt.Command) == 0 && len(rt.Platforms) == 0:
		c.Problem(checked.Join(where, "command"), `write the program and its arguments, such as ["./bin/plugin"]`, "is missing")
		return
	case len(own) == 0:
		c.Problem(platforms, "get a version of the plugin for it", "the plugin does not run on %s", here)
		return
	}
	if c.Command(field, own) && strings.HasPrefix(own[0], "./") {
		c.File(checked.Index(field, 0), own[0], true)
	}
	rt.Command = own
}

// isWord reports whether s has letters and digits only.
func isWord(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// checkProgram compares the file to start with the approved checksum, if there is one. The file belongs to the sealed copy of the plugin,
// which confined processes cannot write, so it does not change before it runs.
func checkProgram(u *remote.Unit) error {
	if u.Checksum == "" {
		return nil
	}
	f, _, err := projectfs.OpenRegular(u.Program)
	if err != nil {
		return fmt.Errorf("program %s: %w", u.Program, err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read %s: %w", u.Program, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.ToLower(u.Checksum) {
		return fmt.Errorf("%w: %s has the digest sha256:%s, but sha256:%s was approved; review the change, then approve the plugin again",
			ErrDigest, u.Program, got, u.Checksum)
	}
	return nil
}
