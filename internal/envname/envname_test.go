package envname_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/envname"
)

func TestRunsCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"BASH_ENV", "ENV", "PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PROMPT_COMMAND", "BASH_FUNC_ls%%", "BASH_CMDS",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_SSH_COMMAND", "NODE_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "npm_config_node_options", "SHELLOPTS", "PS4", "HOME", "ZDOTDIR", "SSH_ASKPASS", "RUSTC_WRAPPER", "GOFLAGS", "MAKEFLAGS",
	} {
		if !envname.RunsCode(name) {
			t.Errorf("RunsCode(%q) = false", name)
		}
	}
	for _, name := range []string{"DEPLOY_STAGE", "API_URL", "LANG", "TZ", "TERM", "NO_COLOR", "CI", "AWS_REGION", "DATABASE_URL", "PORT"} {
		if envname.RunsCode(name) {
			t.Errorf("RunsCode(%q) = true", name)
		}
	}
}
