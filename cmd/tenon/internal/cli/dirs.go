package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// Dirs are the directories outside the project. All paths are absolute.
type Dirs struct {
	Home, Config, Data, Cache string
}

// FindDirs follows the XDG base directories, ignoring relative paths, or else the conventions of the system. dataFlag and
// TENON_DATA_DIR name the data directory itself.
func FindDirs(env environ, dataFlag string) (Dirs, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	d := Dirs{Home: home, Config: xdg(env, "XDG_CONFIG_HOME"), Data: dataFlag}
	if d.Config == "" {
		if base, err := os.UserConfigDir(); err == nil {
			d.Config = filepath.Join(base, "tenon")
		}
	}
	if d.Data == "" {
		d.Data = env.Lookup("TENON_DATA_DIR")
	}
	if d.Data != "" {
		d.Data, err = filepath.Abs(d.Data)
		d.Cache = filepath.Join(d.Data, "cache") // a chosen data directory holds all data
		return d, err
	}
	if d.Cache = xdg(env, "XDG_CACHE_HOME"); d.Cache == "" {
		if base, err := os.UserCacheDir(); err == nil {
			d.Cache = filepath.Join(base, "tenon")
		}
	}
	if d.Data = xdg(env, "XDG_DATA_HOME"); d.Data == "" {
		d.Data = systemData(env, home)
	}
	if d.Data == "" {
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
