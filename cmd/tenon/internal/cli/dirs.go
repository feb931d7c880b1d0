package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// environ is a process environment that tests can replace.
type environ []string

// Lookup returns the value of a variable, or "" if it is not set. The last of several values counts, as in a shell.
func (e environ) Lookup(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if n, v, _ := strings.Cut(e[i], "="); n == name {
			return v
		}
	}
	return ""
}

// FindDirs returns a project with the directories outside of it, as absolute paths. It follows the XDG base directories, ignoring relative paths, or else the conventions of the system. dataFlag and
// TENON_DATA_DIR name the data directory itself.
func FindDirs(env environ, dataFlag string) (sdk.Project, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	d := sdk.Project{Home: home, ConfigDir: xdg(env, "XDG_CONFIG_HOME"), DataDir: dataFlag}
	if d.ConfigDir == "" {
		if base, err := os.UserConfigDir(); err == nil {
			d.ConfigDir = filepath.Join(base, "tenon")
		}
	}
	if d.DataDir == "" {
		d.DataDir = env.Lookup("TENON_DATA_DIR")
	}
	if d.DataDir != "" {
		d.DataDir, err = filepath.Abs(d.DataDir)
		d.CacheDir = filepath.Join(d.DataDir, "cache") // a chosen data directory holds all data
		return d, err
	}
	if d.CacheDir = xdg(env, "XDG_CACHE_HOME"); d.CacheDir == "" {
		if base, err := os.UserCacheDir(); err == nil {
			d.CacheDir = filepath.Join(base, "tenon")
		}
	}
	if d.DataDir = xdg(env, "XDG_DATA_HOME"); d.DataDir == "" {
		d.DataDir = systemData(env, home)
	}
	if d.DataDir == "" {
		return d, UsageError("set HOME, or name a data directory with --data-dir DIR or TENON_DATA_DIR", "no home directory to store sessions in")
	}
	return d, nil
}

func xdg(env environ, name string) string {
	if base := env.Lookup(name); filepath.IsAbs(base) {
		return filepath.Join(base, "tenon")
	}
	return ""
}

func systemData(env environ, home string) string {
	switch runtime.GOOS {
	case "windows":
		if base := env.Lookup("LOCALAPPDATA"); base != "" {
			return filepath.Join(base, "tenon")
		}
		return ""
	case "darwin":
		if home != "" {
			return filepath.Join(home, "Library", "Application Support", "tenon")
		}
		return ""
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "share", "tenon")
}
