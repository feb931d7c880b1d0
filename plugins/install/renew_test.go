package install_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// A package of the same name in another registry, as without the settings for a private one, does not replace the installed package.
func TestRenewFromAnotherRegistry(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	files := map[string]string{"package.json": `{"name":"own","version":"1.0.0"}`, ".claude-plugin/plugin.json": `{"name":"own"}`, "skills/s/SKILL.md": skill("s")}
	private, public := sourcetest.NewNPM(t), sourcetest.NewNPM(t)
	private.Add(t, files)
	k.Fetcher.Registry = private.URL
	first, err := k.Stage(t.Context(), k.target, "npm:own", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Renew(t.Context(), k.target, first.Plugin); err != nil || !again.Same(&first.Plugin) {
		t.Errorf("Renew() = %+v, %v", again, err)
	}
	public.Add(t, files)
	k.Fetcher.Registry = public.URL
	if again, err := k.Renew(t.Context(), k.target, first.Plugin); err != nil || !again.Same(&first.Plugin) {
		t.Errorf("Renew() of the same content = %+v, %v", again, err)
	}
	files["package.json"] = `{"name":"own","version":"9.0.0"}`
	public.Add(t, files)
	newest, err := k.Renew(t.Context(), k.target, first.Plugin)
	if !errors.Is(err, install.ErrMoved) {
		t.Errorf("Renew() from the other registry = %+v, %v", newest, err)
	}
	for address, moved := range map[string]bool{public.URL + "/private/own/-/own-1.0.0.tgz": true, strings.Replace(newest.URL, "http:", "HTTPS:", 1): false} {
		was := first.Plugin
		was.URL = address
		if s, err := k.Renew(t.Context(), k.target, was); errors.Is(err, install.ErrMoved) != moved {
			t.Errorf("Renew() after %s = %+v, %v", address, s, err)
		}
	}
	k.repository(t, "own", files)
	moved := first.Plugin // as when its marketplace names a repository now
	moved.Ref = "git+file://" + filepath.Join(k.top, "own")
	if s, err := k.Renew(t.Context(), k.target, moved); err != nil || s.Commit == "" {
		t.Errorf("Renew() from a repository = %+v, %v", s, err)
	}
}
