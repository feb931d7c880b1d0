package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// readers allows the commands that people allow because they only read.
func readers() *permission.Rules {
	rules := permission.Defaults()
	for _, pattern := range []string{
		"echo *", "printf *", "cat *", "ls *", "pwd", "true", "grep *", "rg *", "find *", "fd *", "sort *", "uniq *", "head *", "tail *", "wc *", "cut *", "tr *", "tree *",
		"sed *", "awk *", "xargs *", "env *", "test *", "[ *", "date *", "time *", "git log *", "git status *", "git diff *", "git show *", "git grep *", "go test *", "go vet *", "tar *", "nice *", "sudo *", "timeout *", "less *", "man *", "command *", "diff *", "xxd *", "read *",
		"history *", "hostname *", "mount *", "sysctl *", "ip *", "ss *", "openssl *", "make *", "curl *", "sqlite3 *", "psql *", "mysql *", "gofmt *", "goimports *", "prettier *", "eslint *", "shfmt *", "clang-format *", "ruff *",
		"tcpdump *", "pandoc *", "xmllint *", "tidy *", "dmesg *", "journalctl *", "csplit *", "ldd *", "exiftool *", "nm *", "yq *", "go env *", "go list *", "git config *", "git -C *", "mapfile *", "readarray *", "getopts *", "let *", "shopt *",
	} {
		rules = append(rules, sdk.PermissionRule{Permission: "bash", Pattern: pattern, Action: sdk.ActionAllow})
	}
	return permission.Compile("/home/nobody", rules)
}

// decide returns what the rules say of a command, and what was judged.
func (f *fixture) decide(t *testing.T, rules *permission.Rules, command string) (sdk.Action, []string) {
	t.Helper()
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": command}))
	if err != nil {
		t.Fatalf("Prepare(%q): %v", command, err)
	}
	action, judged := sdk.ActionAllow, []string(nil)
	for _, r := range requests {
		action = permission.Combine(action, rules.DecideAll(r.Permission, r.Patterns).Action)
		judged = append(judged, r.Patterns...)
	}
	return action, judged
}

// TestHidden holds that no rule for what reads lets something else run.
func TestHidden(t *testing.T) {
	t.Parallel()
	commands := hiddenCommands()
	if len(commands) < 120 {
		t.Errorf("%d commands, want at least 120", len(commands))
	}
	rules := readers()
	for _, command := range commands {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			if action, judged := f.decide(t, rules, command); action == sdk.ActionAllow {
				t.Errorf("%q is allowed; judged: %q", command, judged)
			}
		})
	}
}

// TestHonest holds that what only reads is allowed by the same rules.
func TestHonest(t *testing.T) {
	t.Parallel()
	rules := readers()
	for _, command := range []string{
		"ls -la", "cat a b | grep -n x | sort -u | uniq -c | head -5", "echo \"$X\" 2>&1", "echo hi > /dev/null 2>&1", "grep -rn 'func (t|x)' . || true",
		"find . -name '*.go' -not -path './vendor/*'", "find . -type f -exec grep -l x {} +", "find . -name x -exec cat {} \\;", "find . -type f | xargs grep foo", "find . -print0 | xargs -0 -n 10 wc -l",
		"sed -n '1,20p' a.go", "sed -e 's/a/b/g' -e '/x/d' a", "sed 's/[[:space:]]*$//; s|a/b|c|' a", "sed -n '/^func/,/^}/p' a", "cat a | sed '$d'",
		"awk '{print $1}' a", "awk -F: '$3 > 100 {print $1, $2}' a", "awk 'NR>=10 && NR<=20' a", "awk '/foo/ { n++ } END { print n }' a", "awk -v n=3 'NR==n' a",
		"git log --oneline -5 -- a", "git diff HEAD~1 --stat", "git -C . status", "git show HEAD:a", "git status --short && git diff", "git log --grep='x|y' --format='%h %s'",
		"go test ./... -run 'TestX' -count=1", "go vet ./...", "cd sub && ls", "for f in a b c; do cat $f; done", "for f in *.go; do head -3 \"$f\"; done", "for i in 1 2 3; do echo $((i * 2)); done",
		"while read -r line; do echo \"$line\"; done < a", "if [ -f a ]; then cat a; else echo none; fi", "[[ -n $X && $X == y* ]] && echo yes", "case a in a) echo x;; esac", "(cd sub; ls) | wc -l",
		"echo {a,b,c}", "echo a{1..3}", "time ls", "timeout 10 grep -r x .", "env LANG=C sort a", "nice -n 5 grep x a", "sort -k2,2 -t: a", "tail -n +3 a", "tar tf a.tar", "tar -tzf a.tgz",
		"cat <<'EOF'\n$(not run)\nEOF", "grep -E '\\$\\(x\\)' a", "echo 'a > b'", "echo a \\> b", "# a comment\nls", "diff <(sort a) <(sort b)", "printf '%s\\n' a b", "test -e a && echo yes", "ls | cat 2>/dev/null",
		"rg -n 'x' --type go", "command -v go", "xxd a | head", "date +%s", "f() { cat \"$1\"; }; echo done", "xargs -a list -I{} cat {}", "{ ls; cat a; } 2>/dev/null", "!  grep -q x a", "ls -- -x", "echo $(( 1 + 2 ))", "echo ${#X} ${X:-none} ${X%.go}",
		"history 5", "hostname", "hostname -f", "date -u +%F", "date -d @0 +%s", "mount", "mount -l", "sysctl -n kernel.ostype", "ip a", "ip -br addr", "ip -4 route show", "ip link show dev lo", "ss -tlnp", "openssl version", "openssl x509 -in a -noout -text", "openssl dgst -sha256 a", "make", "make -j4 test", "make -C sub test", "make test V=1",
		"curl -sS -w '%{http_code}' http://x", "sqlite3 a 'select 1'", "sqlite3 -json a .tables", "psql -c 'select 1'", "mysql -e 'select 1'", "gofmt -l .", "gofmt -d a", "prettier --check .", "eslint a", "journalctl -n 5", "dmesg -T", "nm a", "go env GOPATH", "go list -m all", "go list -mod=readonly ./...", "git config --get user.name", "git config --list", "git config user.name x", "git config user.email", "git -C sub status",
		"[[ x == @(a|b) ]] && ls", "echo $((x++ + y))", "mapfile -t lines < a", "xargs --process-slot-var=SLOT echo",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			more := permission.Compile("", rules.Rules(), sdk.PermissionRules{{Permission: "bash", Pattern: "git -C . status", Action: sdk.ActionAllow}})
			if action, judged := f.decide(t, more, command); action != sdk.ActionAllow {
				t.Errorf("%q: %s; judged: %q", command, action, judged)
			}
		})
	}
}

// TestImplied holds that what is written and what runs can be denied however it is written.
func TestImplied(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]sdk.ImpliedPermission{
		"echo x > a":                {Permission: "edit", Pattern: "a"},
		"cd sub && echo x >> a":     {Permission: "edit", Pattern: "sub/a"},
		"tee -a x/y < b":            {Permission: "edit", Pattern: "x/y"},
		"cp a sub/":                 {Permission: "edit", Pattern: "sub/a"},
		"mv a b":                    {Permission: "edit", Pattern: "a"},
		"rm -rf a":                  {Permission: "edit", Pattern: "a"},
		"sed -i s/a/b/ a":           {Permission: "edit", Pattern: "a"},
		"bash -c 'echo x > a'":      {Permission: "edit", Pattern: "a"},
		"bash <<< 'echo x > a'":     {Permission: "edit", Pattern: "a"},
		"bash <<E\necho x > a\nE":   {Permission: "edit", Pattern: "a"},
		"{ ls; } &> a":              {Permission: "edit", Pattern: "a"},
		"rm *.o":                    {Permission: "edit", Pattern: "x.o"},
		`r\m  "x"`:                  {Permission: "bash", Pattern: "rm x"},
		"/bin/rm x":                 {Permission: "bash", Pattern: "rm x"},
		"A=1 rm x":                  {Permission: "bash", Pattern: "rm x"},
		"{rm,x}":                    {Permission: "bash", Pattern: "rm x"},
		"git -C x push --force":     {Permission: "bash", Pattern: "git push --force"},
		"sudo -u root command rm x": {Permission: "bash", Pattern: "rm x"},
		"eval 'r'm x":               {Permission: "bash", Pattern: "rm x"},
		"echo $($'\\x72m' x)":       {Permission: "bash", Pattern: "rm x"},
	} {
		f := newFixture(t, "bash")
		if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.dir, "x.o"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, bash := f.prepare(t, map[string]any{"command": command})
		if bash == nil || !slices.Contains(bash.Implied, want) && (want.Permission != "bash" || !slices.Contains(bash.Patterns, want.Pattern)) {
			t.Errorf("%q implies %v, want %v", command, bash, want)
		}
	}
}

// TestAlwaysIsNarrow holds that nothing unjudged is allowed for more than its very text.
func TestAlwaysIsNarrow(t *testing.T) {
	t.Parallel()
	for _, command := range append(hiddenCommands(), "rm -rf a", "curl http://x") {
		f := newFixture(t, "bash")
		_, bash := f.prepare(t, map[string]any{"command": command})
		if bash == nil {
			continue
		}
		for _, always := range bash.Always {
			if strings.ContainsAny(always, "*?") && (strings.HasPrefix(always, "unjudged") || strings.HasPrefix(always, ">") || strings.HasPrefix(always, "rm") || strings.HasPrefix(always, "curl")) {
				t.Errorf("%q offers %q", command, always)
			}
		}
	}
}
