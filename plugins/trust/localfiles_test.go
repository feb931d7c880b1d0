package trust_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/trust"
)

// The forms in which commands name scripts of the project.
func TestLocalFiles(t *testing.T) {
	t.Parallel()
	root := files{
		"check.sh": "+x1", "hooks/guard.sh": "1", "my hooks/guard.sh": "1", "sub/here.sh": "1", "sub/lib/deep.sh": "1", "$HOME": "1",
		"sub/lib/more/x.sh": "1", "tool.js": "1", "sub/mod/index.js": "1", "sub/mod/package.json": "{}",
		"out": "-> /etc/passwd", "link.sh": "-> check.sh",
	}.write(t)
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`./check.sh`:                             "",
		`../check.sh -v`:                         "check.sh",
		`"../check.sh"`:                          "check.sh",
		`../link.sh`:                             "check.sh",
		`sh here.sh`:                             "sub/here.sh",
		`sh here.sh>out`:                         "sub/here.sh",
		`X=here.sh; . $X`:                        "sub/here.sh",
		`sh "$TENON_PROJECT_DIR/hooks/guard.sh"`: "hooks/guard.sh",
		`"$CLAUDE_PROJECT_DIR"/hooks/guard.sh`:   "hooks/guard.sh",
		`${CLAUDE_PROJECT_DIR}/hooks/guard.sh && true`:             "hooks/guard.sh",
		`sh '${CLAUDE_PROJECT_DIR:-.}/hooks/guard.sh'`:             "hooks/guard.sh",
		`%CLAUDE_PROJECT_DIR%/hooks/guard.sh`:                      "hooks/guard.sh",
		`$PWD/here.sh`:                                             "sub/here.sh",
		`sh "../my hooks/guard.sh"`:                                "my hooks/guard.sh",
		`sh ../my\ hooks/guard.sh`:                                 "my hooks/guard.sh",
		`sh -c 'cd "$TENON_PROJECT_DIR/hooks" && ./guard.sh'`:      "hooks/guard.sh",
		`sh -c "cd lib && \"./deep.sh\" x"`:                        "sub/lib/deep.sh",
		`cd lib && sh deep.sh`:                                     "sub/lib/deep.sh",
		`cd "$TENON_PROJECT_DIR/hooks"; ./guard.sh`:                "hooks/guard.sh",
		`sh $(echo lib/deep.sh)`:                                   "sub/lib/deep.sh",
		"sh `echo lib/deep.sh`":                                    "sub/lib/deep.sh",
		`sh $(git rev-parse --show-toplevel)/hooks/guard.sh`:       "hooks/guard.sh",
		`sh "$(git rev-parse --show-toplevel)"/hooks/guard.sh`:     "hooks/guard.sh",
		"sh `pwd`/here.sh":                                         "sub/here.sh",
		`cd lib; cd more; sh x.sh`:                                 "sub/lib/more/x.sh",
		`cd "$(git rev-parse --show-toplevel)"; cd sub; ./here.sh`: "sub/here.sh",
		`node ../tool`:                                             "tool.js",
		`node mod`:                                                 "sub/mod/index.js sub/mod/package.json",
		`node ../tool.`:                                            "",
		`sh '$HOME'`:                                               "$HOME",
		`cat ../out /etc/passwd ../../x`:                           "",
		`sh "`:                                                     "",
		`\`:                                                        "",
		`here.sh here.sh "$TENON_PROJECT_DIR/check.sh" ../check.sh lib/nope`: "check.sh sub/here.sh",
	} {
		var got []string
		for _, path := range trust.LocalFiles(root, filepath.Join(root, "sub"), []string{line}) {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s names %q, want %q", line, got, want)
		}
	}
}

func FuzzLocalFiles(f *testing.F) {
	for _, seed := range []string{`sh "$A/b.sh"`, `cd x && ./y`, `a\ b 'c"d' ${e`, "\\", `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		root := files{"a/b.sh": "1", "y": "1"}.write(t)
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range trust.LocalFiles(root, root, []string{line}) {
			if rel, err := filepath.Rel(root, path); err != nil || rel != filepath.FromSlash("a/b.sh") && rel != "y" {
				t.Errorf("%q names %q, %v", line, path, err)
			}
		}
	})
}
