// Package envname judges the names of environment variables that hooks of plugins set.
package envname

import (
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
)

// RunsCode reports whether the environment variable can make a program run code, read configuration or load libraries. Hooks of plugins
// cannot set these variables. The list cannot be complete: the guarantee is that hooks set only variables that their manifest lists and the
// user approved.
func RunsCode(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains(codeNames, upper) || slices.ContainsFunc(codePrefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) ||
		slices.ContainsFunc(codeSuffixes, func(s string) bool { return strings.HasSuffix(upper, s) })
}

// Declared returns the variables that a hook at shell.env lists in the fields it writes, as /env/NAME. Fields with * and fields above
// /env/NAME list none.
func Declared(writes []string) []string {
	var out []string
	for _, field := range writes {
		segments, err := jsonpointer.Split(field)
		if err == nil && len(segments) == 2 && segments[0] == "env" && segments[1] != "*" && segments[1] != "" {
			out = append(out, segments[1])
		}
	}
	return out
}

// The names come from the manuals of shells, dynamic linkers, git, and common interpreters and build tools.
var (
	codeNames = []string{
		"PATH", "HOME", "SHELL", "ENV", "IFS", "PS0", "PS1", "PS2", "PS3", "PS4", "CDPATH", "FPATH", "ZDOTDIR", "SHELLOPTS", "PROMPT_COMMAND",
		"INPUTRC", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "GCONV_PATH", "NLSPATH",
		"LOCPATH", "RES_OPTIONS", "HOSTALIASES", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "USERPROFILE", "APPDATA",
		"COMSPEC", "PATHEXT", "CLASSPATH", "RUSTC", "RUSTDOC", "CC", "CXX", "CPP", "LD", "AR", "AS", "MAKE", "MAKEFILES", "MAKEFLAGS", "MFLAGS",
		"KUBECONFIG", "AWS_CONFIG_FILE", "RIPGREP_CONFIG_PATH", "VIMINIT", "EXINIT", "TCLLIBPATH", "OPENSSL_CONF", "OPENSSL_MODULES",
	}
	codePrefixes = []string{
		"BASH", "LD_", "DYLD_", "GIT_", "NODE_", "NPM_", "YARN_", "PNPM_", "BUN_", "DENO_", "COREPACK_", "PYTHON", "PIP_", "UV_", "CONDA", "VIRTUAL_ENV",
		"PERL", "RUBY", "GEM_", "BUNDLE_", "LUA_", "PHP", "JAVA", "JDK_", "_JAVA", "MAVEN_", "GRADLE", "DOTNET_", "CORECLR_", "COMPLUS_", "CARGO_", "RUSTC_",
		"RUSTUP_", "CGO_", "GOROOT", "GOPATH", "GOFLAGS", "GOENV", "GOTOOLCHAIN", "GOPROXY", "GOBIN", "CMAKE_", "CCACHE_", "SSH_", "SUDO_", "DOCKER_", "GCC_",
		"ERL_", "ELIXIR_", "JULIA_", "R_", "GUILE_", "EMACS", "TENON_",
	}
	codeSuffixes = []string{"_ASKPASS", "_EDITOR", "_PAGER", "_PRELOAD", "_WRAPPER", "_OPTIONS", "_OPTS"}
)
