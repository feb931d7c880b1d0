package remote_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// runner has no contributions.
type runner struct{ remote.Runner }

// The options of the plugin's entry take precedence over those that the host has under its name.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, host, want string }{{`{"b":2}`, `{"a":1}`, `{"b":2}`}, {"", `{"a":1}`, `{"a":1}`}, {"", "", "null"}} {
		b := remote.NewBase(&remote.Unit{Description: sdk.Description{Name: "p"}, Options: json.RawMessage(c.own)}, sdk.CarrierWASM, runner{})
		h := sdktest.New(&sdk.Bundle{}, sdktest.Options{Options: json.RawMessage(c.host)})
		var req guest.StartRequest
		data, err := b.StartRequest(h, sdk.Project{})
		if err == nil {
			err = json.Unmarshal(data, &req)
		}
		if err != nil || string(req.Options) != c.want {
			t.Errorf("options %s of the entry, %s of the host: got %s, %v; want %s", c.own, c.host, req.Options, err, c.want)
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	root := filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	project, data := sdk.Project{Worktree: filepath.Join(root, "w")}, filepath.Join(root, "d")
	for entry, want := range map[string][2]string{
		"$PROJECT": {project.Worktree, ""}, "$PROJECT/a//b": {project.Worktree, filepath.FromSlash("a//b")}, "$DATA/a": {data, "a"},
		filepath.Join(root, "x", "y"): {filepath.Join(root, "x", "y"), ""}, "$HOME/a": {}, "x/y": {}, "": {},
	} {
		base, rest, own := remote.Locate(entry, project, data)
		if got := [2]string{base, rest}; got != want || own != (base == data) {
			t.Errorf("Locate(%q) = %q, %t; want %q", entry, got, own, want)
		}
		if base, _, _ = remote.Locate(entry, sdk.Project{}, ""); base != "" && base != filepath.Clean(entry) {
			t.Errorf("Locate(%q) without directories = %q", entry, base)
		}
	}
}

// Grants cover neither tenon's directories nor what links in them lead to.
func TestPrivate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	project := sdk.Project{ConfigDir: filepath.Join(root, "config"), DataDir: filepath.Join(root, "data")}
	for link, target := range map[string]string{"data/credentials.json": "../vault/keys", "config/skill": "../skill", "config/skills": "../skills"} {
		link = filepath.Join(root, link)
		if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(target, link)); err != nil {
			t.Skip(err) // Windows without the right to make links
		}
	}
	for dir, private := range map[string]bool{"data": true, "data/plugins": true, "vault": true, "": true, "skill": false, "skills": false, "other": false} {
		if own := remote.Private(filepath.Join(root, dir), project, nil); (own != "") != private {
			t.Errorf("Private(%q) = %q", dir, own)
		}
	}
}
