package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// environ is a process environment that tests can replace.
type environ []string

// lookup returns the value of a variable, empty when it is not set. As for a shell, the last one counts.
func (e environ) lookup(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if n, v, _ := strings.Cut(e[i], "="); n == name {
			return v
		}
	}
	return ""
}

// dirs are the places outside of the project, all absolute.
type dirs struct {
	home, config, data, cache string
}

// findDirs follows the XDG base directories, where a relative path counts as not set, and else the
// conventions of the system. dataFlag and TENON_DATA_DIR name the data directory itself.
func findDirs(env environ, dataFlag string) (dirs, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	d := dirs{home: home, config: xdg(env, "XDG_CONFIG_HOME"), data: dataFlag}
	if d.config == "" {
		if base, err := os.UserConfigDir(); err == nil {
			d.config = filepath.Join(base, "tenon")
		}
	}
	if d.data == "" {
		d.data = env.lookup("TENON_DATA_DIR")
	}
	if d.data != "" {
		d.data, err = filepath.Abs(d.data)
		d.cache = filepath.Join(d.data, "cache") // who chose the place of the data wants all of it there
		return d, err
	}
	if d.cache = xdg(env, "XDG_CACHE_HOME"); d.cache == "" {
		if base, err := os.UserCacheDir(); err == nil {
			d.cache = filepath.Join(base, "tenon")
		}
	}
	if d.data = xdg(env, "XDG_DATA_HOME"); d.data == "" {
		d.data = systemData(env, home)
	}
	if d.data == "" {
		return d, usageError("set HOME, or name a data directory with --data-dir DIR or TENON_DATA_DIR", "there is no home directory to keep sessions in")
	}
	return d, nil
}

func xdg(env environ, name string) string {
	if base := env.lookup(name); filepath.IsAbs(base) {
		return filepath.Join(base, "tenon")
	}
	return ""
}

func systemData(env environ, home string) string {
	switch runtime.GOOS {
	case "windows":
		if base := env.lookup("LOCALAPPDATA"); base != "" {
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
