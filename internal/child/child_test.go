package child_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/child"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("names of variables are compared in another way there")
	}
	tests := map[string]struct {
		base  []string
		extra map[string]string
		want  []string
	}{
		"secrets stay":       {[]string{"OPENAI_API_KEY=k", "PATH=/bin", "SSH_AUTH_SOCK=/s"}, nil, []string{"PATH=/bin"}},
		"everything passed":  {[]string{"SHELL=sh", "USER=u", "LC_ALL=C", "TZ=UTC"}, nil, []string{"LC_ALL=C", "SHELL=sh", "TZ=UTC", "USER=u"}},
		"extra wins":         {[]string{"PATH=/bin"}, map[string]string{"PATH": "/opt", "TOKEN": "t"}, []string{"PATH=/opt", "TOKEN=t"}},
		"value with =":       {[]string{"LANG=a=b"}, nil, []string{"LANG=a=b"}},
		"later wins":         {[]string{"HOME=/a", "HOME=/b"}, nil, []string{"HOME=/b"}},
		"similar names stay": {[]string{"PATHX=1", "path=2", "LC=3", "XLC_ALL=4", "HOMEBREW=5"}, nil, []string{}},
		"no variable":        {[]string{"PATH", "", "=C:=C:\\"}, nil, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, child.Environ(tt.base, tt.extra)); diff != "" {
				t.Errorf("Environ (-want +got):\n%s", diff)
			}
		})
	}
}

// Programs behind a company's proxy reach servers, but a password in the proxy's address stays here.
func TestNetworkEnviron(t *testing.T) {
	t.Parallel()
	base := []string{"HTTPS_PROXY=http://p:3128", "https_proxy=http://p:3128", "http_proxy=http://u:secret@p:3128", "NO_PROXY=a@b", "NODE_EXTRA_CA_CERTS=/ca@home.pem", "OPENAI_API_KEY=k"}
	got := strings.Join(child.NetworkEnviron(base, map[string]string{"HTTPS_PROXY": "http://own", "SSL_CERT_DIR": "/d"}), " ")
	if want := "HTTPS_PROXY=http://own NODE_EXTRA_CA_CERTS=/ca@home.pem SSL_CERT_DIR=/d"; got != want {
		t.Errorf("NetworkEnviron() = %s, want %s", got, want)
	}
	if plain := child.Environ(base, nil); len(plain) > 0 {
		t.Errorf("Environ() = %s, want no proxy: npm could bypass the registry that checks it", plain)
	}
}

func TestGitEnviron(t *testing.T) {
	t.Parallel()
	base := []string{"PATH=/bin", "GIT_DIR=/x", "GIT_CONFIG_PARAMETERS='a=b'", "GIT_CONFIG_COUNT=1", "GIT_SSH_COMMAND=ssh -v", "GIT_INDEX_FILE=/i"}
	got := strings.Join(child.GitEnviron(base, "GIT_DIR=/y"), " ")
	if !strings.HasPrefix(got, "PATH=/bin GIT_CONFIG_COUNT=1 GIT_SSH_COMMAND=ssh -v GIT_TERMINAL_PROMPT=0 ") || !strings.HasSuffix(got, " GIT_DIR=/y") {
		t.Errorf("GitEnviron() = %s", got)
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("nothing")
	child.Prepare(cmd)
	if err := child.Kill(cmd); err != nil {
		t.Errorf("Kill of a command that was not started: %v", err)
	}
	if err := child.Terminate(cmd); err != nil {
		t.Errorf("Terminate of a command that was not started: %v", err)
	}
}
