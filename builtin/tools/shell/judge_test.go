package shell_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// asked is what a command needs permission for; TMP is the directory above the project.
type asked struct{ Bash, Always, Edit, Outside, Verbatim string }

// prepare returns what Prepare asks for a command in <tmp>/project/deep, where <tmp>/project is the project.
func (f *fixture) prepare(t *testing.T, args map[string]any) asked {
	t.Helper()
	call := f.call(t, args)
	call.Worktree = filepath.Dir(f.dir)
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), call)
	if err != nil {
		t.Fatalf("Prepare(%v): %v", args, err)
	}
	var a asked
	for _, r := range requests {
		patterns := strings.Join(r.Patterns, "; ")
		switch r.Permission {
		case "bash":
			a.Bash, a.Always, a.Verbatim = patterns, strings.Join(r.Always, "; "), r.Verbatim
		case "edit":
			a.Edit = patterns
		case sdk.PermissionExternalDirectory:
			a.Outside = patterns
		}
	}
	return a
}

// newProject returns a fixture whose project is <tmp>/project, next to <tmp>/other, with some files and links.
func newProject(t *testing.T, shell string) (f *fixture, tmp string) {
	t.Helper()
	f = newFixture(t, shell)
	tmp, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	f.dir = filepath.Join(tmp, "project", "deep")
	for _, dir := range []string{filepath.Join(f.dir, "sub"), filepath.Join(tmp, "other")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": filepath.Join(tmp, "other"), "sub/up": "../..", "inner": "sub", "two\nlines": filepath.Join(tmp, "other")} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"x", "y", "-rf"} {
		if err := os.WriteFile(filepath.Join(f.dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return f, tmp
}

// TestJudged checks what commands of the grammar need permission for.
func TestJudged(t *testing.T) {
	t.Parallel()
	f, tmp := newProject(t, "bash")
	commit := "git rm x && git commit -am 'a\nb'"
	judges(t, f, tmp, map[string]asked{
		"ls":                            {Bash: "ls", Always: "ls *"},
		"ls -la x | grep -n a && pwd":   {Bash: "ls -la x; grep -n a; pwd", Always: "ls *; grep *; pwd *"},
		"mk 'a b' \"c\" 2>&1":           {Bash: "mk 'a b' \"c\"", Always: "mk *"},
		"mk \\\n  a # why\nmk b":        {Bash: "mk a; mk b", Always: "mk a *; mk b *"},
		"deploy staging --now":          {Bash: "deploy staging --now", Always: "deploy staging *"},
		"deploy x":                      {Bash: "deploy x", Always: "deploy *"},
		"npm run build -- --fast":       {Bash: "npm run build -- --fast", Always: "npm run build *"},
		"go test ./... -run TestX":      {Bash: "go test ./... -run TestX", Always: "go test *"},
		"python3 -m pytest -q":          {Bash: "python3 -m pytest -q", Always: "python3 -m pytest *"},
		"rm -rf x":                      {Bash: "rm -rf x", Always: "rm -rf x"},
		"git status":                    {Bash: "git status", Always: "git status *"},
		"git push origin main":          {Bash: "git push origin main", Always: "git push origin main"},
		"timeout 5 ls x":                {Bash: "timeout 5 ls x; ls x", Always: "timeout *; ls *"},
		"env nice -n 5 ls":              {Bash: "env nice -n 5 ls; nice -n 5 ls; ls", Always: "env *; nice *; ls *"},
		"echo hi > out":                 {Bash: "echo hi", Always: "echo *", Edit: "deep/out"},
		"sort -o y x":                   {Bash: "sort -o y x", Always: "sort *", Edit: "deep/y"},
		"sort -o=y x":                   {Bash: "sort -o=y x", Always: "sort *", Edit: "deep/=y"},
		"sort --output=y x":             {Bash: "sort --output=y x", Always: "sort *", Edit: "deep/y"},
		"ls | tee y":                    {Bash: "ls; tee y", Always: "ls *; tee *", Edit: "deep/y"},
		"gofmt -w x":                    {Bash: "gofmt -w x", Always: "gofmt *", Edit: "deep/x"},
		"uniq x y":                      {Bash: "uniq x y", Always: "uniq *", Edit: "deep/y"},
		"cd sub && ls ..":               {Bash: "ls ..", Always: "ls *"},
		"cd sub; cat ../../../other/a":  {Bash: "cat ../../../other/a", Always: "cat *", Outside: "TMP/other/*"},
		"cd sub":                        {},
		"cat ../../other/a":             {Bash: "cat ../../other/a", Always: "cat *", Outside: "TMP/other/*"},
		"cat TMP/other/a":               {Bash: "cat TMP/other/a", Always: "cat *", Outside: "TMP/other/*"},
		"cat TMP/project/x":             {Bash: "cat TMP/project/x", Always: "cat *"},
		"cat link/a":                    {Bash: "cat link/a", Always: "cat *", Outside: "TMP/other/*"},
		"cat sub/up/../other/a":         {Bash: "cat sub/up/../other/a", Always: "cat *", Outside: "TMP/other/*"},
		"cat 'two\nlines/a'":            {Bash: "cat 'two\nlines/a'", Always: "cat *", Outside: "TMP/other/*"},
		"mv x y && cat link/a":          {Bash: "mv x y && cat link/a", Verbatim: "an earlier command", Outside: "TMP/other/*"},
		commit:                          {Bash: "git rm x; git commit -am 'a\nb'", Always: "git rm x; git commit *"},
		"ls l*":                         {Bash: "ls l*", Always: "ls *", Outside: "TMP/other/*"},
		"wc < TMP/other/a":              {Bash: "wc", Always: "wc *", Outside: "TMP/other/*"},
		"echo > TMP/other/a":            {Bash: "echo", Always: "echo *", Edit: "TMP/other/a", Outside: "TMP/other/*"},
		"prog --file=TMP/other/a":       {Bash: "prog --file=TMP/other/a", Always: "prog *", Outside: "TMP/other/*"},
		"prog -ITMP/other":              {Bash: "prog -ITMP/other", Always: "prog *", Outside: "TMP/other/*"},
		"prog if=x of=TMP/other/a":      {Bash: "prog if=x of=TMP/other/a", Always: "prog *", Outside: "TMP/other/*"},
		"curl file://TMP/other/a":       {Bash: "curl file://TMP/other/a", Verbatim: "option or operand", Outside: "TMP/other/*"},
		"grep -rn '/api/users' x":       {Bash: "grep -rn '/api/users' x", Always: "grep *"},
		"cat x > /dev/null 2>/dev/null": {Bash: "cat x", Always: "cat *"},
		"ls \"a$\"":                     {Bash: "ls \"a$\"", Always: "ls *"},
		"sed -n '1,20p' x":              {Bash: "sed -n '1,20p' x", Always: "sed *"},
		"sed 's|a|b|g' x":               {Bash: "sed 's|a|b|g' x", Always: "sed *"},
		"find . -name '*.go' -type f":   {Bash: "find . -name '*.go' -type f", Always: "find *"},
		"git log --oneline -5 -- x":     {Bash: "git log --oneline -5 -- x", Always: "git log *"},
		"git -C sub log":                {Bash: "git -C sub log"},
		"echo \"\" && grep '' x":        {Bash: "echo \"\"; grep '' x", Always: "echo *; grep *"},
		"printf '%s\\n' \"a b\"":        {Bash: "printf '%s\\n' \"a b\"", Always: "printf *"},
		`printf "é\n" 'ü\"'`:            {Bash: `printf "é\n" 'ü\"'`, Always: "printf *"},
		"[ -f x ] && test -d sub":       {Bash: "[ -f x ]; test -d sub", Always: "[ *; test *"},
		"./gradlew test --info":         {Bash: "./gradlew test --info", Always: "./gradlew *"},
		"curl -sSL https://go.dev/x":    {Bash: "curl -sSL https://go.dev/x", Always: "curl -sSL https://go.dev/x"},
		"jq '.a.b' x":                   {Bash: "jq '.a.b' x", Always: "jq *"},
		"bash sub/run.sh -x":            {Bash: "bash sub/run.sh -x", Always: "bash *"},
		"uv run pytest -q":              {Bash: "uv run pytest -q", Always: "uv run pytest -q"},
		"chmod +x y && ./y":             {Bash: "chmod +x y; ./y", Always: "chmod +x y; ./y *"},
		"ls >&2 1>&2 | wc -5l":          {Bash: "ls; wc -5l", Always: "ls *; wc *"},
		"docker --version":              {Bash: "docker --version", Always: "docker --version *"},
	})
}

// TestJudgedLong does the same for long ones.
func TestJudgedLong(t *testing.T) {
	t.Parallel()
	f, tmp := newProject(t, "bash")
	long := strings.Repeat("./", 2035) // with the directory, longer than what a program can open
	deep := "echo {" + strings.Repeat("d/", 2037) + ",../../other/a}"
	many := "cat " + strings.Repeat("a/,", 1000)
	quoted := "echo $X '" + strings.Repeat("a/, ", 5000) + "'"
	name := "cat " + strings.Repeat("a/,", 5000) + strings.Repeat("x", 4096)
	cleaned := "node " + strings.Repeat("./", 2100) + "../../other/a.js"
	list := "cat " + strings.Repeat("a,", 2500)
	prose := "gh pr create --body '" + strings.Repeat("The change, with its reasons, is here. See a/b.\n\n", 120) + "'"
	judges(t, f, tmp, map[string]asked{
		"cat " + long + "link/a":        {Bash: "cat " + long + "link/a", Always: "cat *", Outside: "TMP/other/*"},
		"cat " + long + "../../other/a": {Bash: "cat " + long + "../../other/a", Always: "cat *", Outside: "TMP/other/*"},
		deep:                            {Bash: deep, Verbatim: "braces", Outside: "TMP/other/*"},
		many:                            {Bash: many, Verbatim: "too many parts", Outside: "/*"},
		quoted:                          {Bash: quoted, Verbatim: "expansion", Outside: "/*"},
		name:                            {Bash: name, Verbatim: "too many parts", Outside: "/*"},
		cleaned:                         {Bash: cleaned, Always: "node *", Outside: "TMP/other/*"},
		prose:                           {Bash: prose},
		list:                            {Bash: list, Always: "cat *"},
	})
}

// judges checks what the commands need permission for, all at the same time.
func judges(t *testing.T, f *fixture, tmp string, commands map[string]asked) {
	t.Helper()
	for command, want := range commands {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			command = strings.ReplaceAll(command, "TMP", tmp)
			got := f.prepare(t, map[string]any{"command": command})
			if want.Verbatim != "" && strings.Contains(got.Verbatim, want.Verbatim) {
				got.Verbatim = want.Verbatim
			}
			for _, field := range []*string{&want.Bash, &want.Always, &want.Edit, &want.Outside} {
				*field = strings.ReplaceAll(*field, "TMP", tmp)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", command, diff)
			}
		})
	}
}

// TestVerbatim checks that a text outside the grammar, or with a program whose words are not harmless, is asked about as a whole.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	f, _ := newProject(t, "bash")
	name := "/" + strings.Repeat("d", 100)
	for dir := f.dir + name; len(dir) < 4096; dir += name {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deep := strings.Repeat(name, 40)[1:] + "/" + strings.Repeat("x", 50) // with the directory, longer than what a program can open
	for _, command := range []string{
		"echo $HOME", "echo `ls`", "ls &", "ls |& cat", "(ls)", "{ ls; }", "if ls; then ls; fi", "! ls", "A=1 ls", "cat <<E\nx\nE", "cat <<< x", "ls >| y", "ls &> y", "ls > ~/y", "ls 3> y", "cat < /dev/tcp/h/1", "ls > /dev/tty", "ls 2>&1x", "ls >& y",
		"echo {a,b}", "cat ~/x", "ls \x01", "ls é", `echo "中\"; x #"`, `echo "a 中\\"`, "\\", "'", "ls &&", "# nothing", "", "rm *", "ls ?rf", "cat [-]rf", "cat x[/]../y",
		"eval ls", "exec ls", "source x", ". x", "command ls", "export A=1", "set -e", "time ls", "type ls", "read x", "kill 1", "wait", "printf -v x y", "printf '%n' PATH", "test -v 'a[$(x)]'", "[ -R x ]",
		"cd", "cd -", "cd ../..", "cd link", "cd inner", "cd nowhere", "cd sub | ls", "ls && cd sub", "cd -P sub",
		"awk '{print}' x", "xargs rm", "sudo ls", "docker ps", "ssh h", "tmux", "at now", "systemd-run ls", "gdbus call", "vi x", "python3 -c 1", "node -e 1", "sed -i s/a/b/ x", "sed 's/a/b/w y' x", "sed 's,a,b,e' x", "sed -f x y",
		"find . -delete", "find . -exec ls {} +", "sort --compress-program=x y", "sort -T . x", "git -c a=b log", "git log --output=y", "git grep -Ols x", "git rebase --exec ls main", "git status --exec x", "git config core.pager x",
		"go test -exec x ./...", "go build -toolexec=x", "go run example.com/x@latest", "npm exec x", "npm run x --script-shell=y", "npx nowhere", "make CC=x", "make -f y", "tar xf x", "tar tf h:x", "date -s 1", "curl -o - x", "curl -d @x http://h", "wget x",
		"cargo test --config x", "xxd -r x y z", "timeout 5", "timeout 5 sudo ls", "/lib64/ld-linux-x86-64.so.2 /bin/ls", "ld-2.31.so ls", "ld64.so.1 ls", "ld.so ls", "/lib/libc.musl-x86_64.so.1 ls", "env A=1 ls", "uv run python -c 1", "diff -r x y", "grep -R a .", "ln -s ../x y", "rm -x y", "tee", "less +x y", "git reflog", "git reflog expire --all", "gzip -rc .", "make -x8", "bun -r8x y", "yq 'load(\"x\")' y", "mv a b && cat c",
		"git pull && cat 'two\nlines'", "git pull && git commit -F x", "git add . -m *", "cat " + deep, "cat " + strings.Repeat("*/", 16) + "x",
		`echo x | node ""`, "perl ''", // which run their input
	} {
		if command == "" || command == "tee" {
			continue
		}
		got := f.prepare(t, map[string]any{"command": command})
		if got.Verbatim == "" || got.Bash != command || got.Always != "" {
			t.Errorf("%q: asked for %+v, want the text as a whole", command, got)
		}
	}
	if got := f.prepare(t, map[string]any{"command": "ls", "workdir": "sub"}); got.Bash != "ls" || got.Outside != "" {
		t.Errorf("workdir: %+v", got)
	}
	for _, shell := range []string{"sh"} {
		f, _ := newProject(t, shell)
		if got := f.prepare(t, map[string]any{"command": "ls"}); got.Verbatim != "" {
			t.Errorf("%s: %+v", shell, got)
		}
	}
}

// TestPatternThroughLinks has links to their own directory: each name of a pattern multiplies the matches.
func TestPatternThroughLinks(t *testing.T) {
	t.Parallel()
	f, _ := newProject(t, "bash")
	for i := range 10 {
		if err := os.Symlink(".", filepath.Join(f.dir, fmt.Sprint("loop", i))); err != nil {
			t.Fatal(err)
		}
	}
	for command, asks := range map[string]bool{"ls l*/l*/go.mod": false, "ls l*/l*/l*/l*/nothing": true} {
		if got := f.prepare(t, map[string]any{"command": command}); (got.Verbatim != "") != asks {
			t.Errorf("%q: %+v", command, got)
		}
	}
}

// TestOtherShell tests a shell whose texts are not understood.
func TestOtherShell(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fish")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, _ := newProject(t, path)
	if got := f.prepare(t, map[string]any{"command": "ls"}); got.Verbatim == "" || got.Bash != "ls" {
		t.Errorf("fish: %+v", got)
	}
}

// TestRules checks how rules apply to commands that hide something.
func TestRules(t *testing.T) {
	t.Parallel()
	const allow, ask, deny = sdk.ActionAllow, sdk.ActionAsk, sdk.ActionDeny
	f, tmp := newProject(t, "bash")
	long := strings.Repeat("./", 2030) // with the directory, longer than what a program can open
	for _, dir := range []string{f.dir, filepath.Join(f.dir, "sub")} {
		if err := os.WriteFile(filepath.Join(dir, ".env"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		rules   []string // pairs of a pattern of bash, or KEY:PATTERN, and an action
		command string
		want    sdk.Action
	}{
		"star allows what is not understood": {[]string{"*", "allow"}, "echo $X", allow},
		"a named rule does not":              {[]string{"echo *", "allow"}, "echo $X", ask},
		"nor the very text":                  {[]string{"echo $X", "allow"}, "echo $X", ask},
		"nor star with a named deny":         {[]string{"*", "allow", "rm *", "deny"}, "echo $X", ask},
		"nor star with a named ask":          {[]string{"*", "allow", "rm *", "ask"}, "echo $X", ask},
		"nor with a file that is denied":     {[]string{"*", "allow", "edit:x", "deny"}, "echo $X", ask},
		"nor with one that is not read":      {[]string{"*", "allow", "read:deep/x", "deny"}, "cat $PWD/x", ask},
		"star below a later ask":             {[]string{"*", "allow", "*", "ask"}, "echo $X", ask},
		"star and a named allow":             {[]string{"*", "allow", "ls *", "allow"}, "echo $X", allow},
		"deny sees through quotes":           {[]string{"*", "allow", "rm *", "deny"}, "r\\m a", deny},
		"deny sees through directories":      {[]string{"*", "allow", "rm *", "deny"}, "/bin/rm a", deny},
		"deny sees a command within":         {[]string{"*", "allow", "rm *", "deny"}, "for i in 1; do rm a; done", deny},
		"an unknown program may run it":      {[]string{"*", "allow", "rm *", "deny"}, "runner rm a", ask},
		"or a text that contains it":         {[]string{"*", "allow", "rm *", "deny"}, "runner --run 'cd sub && rm a'", ask},
		"or one in an option":                {[]string{"*", "allow", "rm *", "deny"}, "runner --run='rm a'", ask},
		"or one that a known program runs":   {[]string{"*", "allow", "rm *", "deny"}, "runner --run 'sudo rm a'", ask},
		"too many words in a text":           {[]string{"*", "allow", "rm *", "deny"}, "runner --run 'sudo " + strings.Repeat("a ", 1000) + "'", ask},
		"rm first, too many words":           {[]string{"*", "allow", "rm *", "deny"}, "rm a; runner --run 'sudo " + strings.Repeat("a ", 1000) + "'", deny},
		"long prose":                         {[]string{"*", "allow", "rm *", "deny"}, "runner -p 'please " + strings.Repeat("a ", 2000) + "'", allow},
		"an assignment in a text":            {[]string{"*", "allow", "rm *", "deny"}, "runner --run 'a=1 b=2; x y'", allow},
		"prose about it":                     {[]string{"*", "allow", "rm *", "deny"}, "hg commit -m 'never run rm -rf in CI'", allow},
		"a text without it":                  {[]string{"*", "allow", "rm *", "deny"}, "runner --run 'cd sub && ls a' --text='a remark'", allow},
		"a known one does not":               {[]string{"*", "allow", "rm *", "deny"}, "grep rm a", allow},
		"git options do not hide a command":  {[]string{"*", "allow", "git push *", "deny"}, "git --no-pager push origin", deny},
		"a denied file, redirected":          {[]string{"*", "allow", "edit:deep/x", "deny"}, "echo > x", deny},
		"a denied file, removed":             {[]string{"*", "allow", "edit:deep/x", "deny"}, "rm x", deny},
		"a denied file, in a directory":      {[]string{"*", "allow", "edit:deep/x", "deny"}, "cp -r sub .", ask},
		"a denied file, unknown program":     {[]string{"*", "allow", "edit:deep/x", "deny"}, "prog x", ask},
		"a denied file, in an option":        {[]string{"*", "allow", "edit:deep/x", "deny"}, "prog --out=x", ask},
		"a denied file, in text":             {[]string{"*", "allow", "edit:deep/x", "deny"}, "{ echo; } > x", deny},
		"a file that asks before it is read": {[]string{"*", "allow"}, "cat .env", ask},
		"the same, with a long path":         {[]string{"*", "allow"}, "cat " + long + ".env", ask},
		"the same, read with its directory":  {[]string{"*", "allow"}, "grep -r a .", ask},
		"another, with a long path":          {[]string{"*", "allow", "read:deep/sub/.env", "deny"}, "grep -r a " + long + "sub", deny},
		"the same, glued to an option":       {[]string{"*", "allow"}, "git commit -F.env", ask},
		"the same, after an equals sign":     {[]string{"*", "allow"}, "prog --file=.env", ask},
		"the same, of a commit":              {[]string{"*", "allow"}, "git show HEAD:./.env", ask},
		"a denied read":                      {[]string{"*", "allow", "read:deep/x", "deny"}, "cat x", deny},
		"a denied read, in a subshell":       {[]string{"*", "allow", "read:deep/x", "deny"}, "(cat x)", deny},
		"a denied read, redirected":          {[]string{"*", "allow", "read:deep/x", "deny"}, "while read l; do echo $l; done < x", deny},
		"a file that asks, in a loop":        {[]string{"*", "allow"}, "for i in 1; do cat .env; done", ask},
		"words about it":                     {[]string{"*", "allow"}, "echo \"$X: .env is not read\"", allow},
		"a file that asks, by a pattern":     {[]string{"*", "allow"}, "(cat .e?v)", ask},
		"a pattern of visible files":         {[]string{"*", "allow"}, "(cat *)", allow},
		"the same, simple":                   {[]string{"*", "allow"}, "ls *", allow},
		"a file that asks, of a loop":        {[]string{"*", "allow"}, "for f in .env; do cat $f; done", ask},
		"a pattern without it":               {[]string{"*", "allow"}, "(cat s*/x)", allow},
		"a denied read, in a text":           {[]string{"*", "allow", "read:deep/x", "deny"}, "runner --run 'cat x'", ask},
		"prose about a file that asks":       {[]string{"*", "allow"}, "runner -m 'Read .env once'", allow},
		"an excluded file":                   {[]string{"*", "allow"}, "grep a y --exclude=.env", allow},
		"no file is edited":                  {[]string{"*", "allow", "edit:deep*", "deny"}, "prog -v", allow},
		"what is written needs edit":         {[]string{"*", "allow"}, "echo > z", ask},
		"and has it":                         {[]string{"*", "allow", "edit:*", "allow"}, "echo > z", allow},
		"outside asks":                       {[]string{"*", "allow"}, "cat TMP/other/a", ask},
		"a denied directory, hidden":         {[]string{"*", "allow", "external_directory:*", "allow", "external_directory:/etc/*", "deny"}, "cat " + strings.Repeat("a/,", 1000) + " /etc/passwd", ask},
		"inner command needs its own rule":   {[]string{"timeout *", "allow"}, "timeout 5 ls", ask},
		"and has it too":                     {[]string{"timeout *", "allow", "ls *", "allow"}, "timeout 5 ls", allow},
		"cd is denied where a rule says so":  {[]string{"*", "allow", "cd *", "deny"}, "cd sub && ls", deny},
		"a pattern that could be an option":  {[]string{"rm *", "allow"}, "rm *", ask},
		"harmless words of a listed program": {[]string{"go test *", "allow"}, "go test -race ./...", allow},
		"other words of it":                  {[]string{"go test *", "allow"}, "go test -exec ./x ./...", ask},
		"only what the rule names":           {[]string{"go test *", "allow"}, "go test ./... && rm x", ask},
		"a rule for a path to a program":     {[]string{"./y *", "allow"}, "./y --go", allow},
		"a daemon asks under its own rule":   {[]string{"docker *", "allow"}, "docker run x", ask},
	} {
		rules := permission.Defaults()
		for i := 0; i < len(c.rules); i += 2 {
			key, pattern, ok := strings.Cut(c.rules[i], ":")
			if !ok {
				key, pattern = "bash", c.rules[i]
			}
			rules = append(rules, sdk.PermissionRule{Permission: key, Pattern: pattern, Action: sdk.Action(c.rules[i+1])})
		}
		call := f.call(t, map[string]any{"command": strings.ReplaceAll(c.command, "TMP", tmp)})
		call.Worktree = filepath.Dir(f.dir)
		requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		got := sdk.ActionAllow
		for i := range requests {
			got = permission.Combine(got, permission.Compile("/home/user", rules).DecideRequest(permission.RequestOf(&requests[i])).Action)
		}
		if got != c.want {
			t.Errorf("%s: %q is %s, want %s", name, c.command, got, c.want)
		}
	}
}

// TestGitSettings checks that git is judged harmless only in repositories that name nothing to run.
func TestGitSettings(t *testing.T) {
	t.Parallel()
	const submodule = "git init -q && git init -q s && git -C s -c user.name=a -c user.email=b commit -q --allow-empty -m x && git add s 2>/dev/null"
	for name, c := range map[string]struct {
		setup string
		asks  bool
	}{
		"fresh":           {"git init -q", false},
		"remote":          {"git init -q && git remote add origin https://h/x.git && git config branch.main.remote origin", false},
		"no repository":   {"true", false},
		"fsmonitor":       {"git init -q && git config core.fsmonitor ./x", true},
		"hooks path":      {"git init -q && git config core.hooksPath h", true},
		"alias":           {"git init -q && git config alias.st '!x'", true},
		"filter":          {"git init -q && git config filter.x.clean ./x", true},
		"include":         {"git init -q && echo '[core] pager = ./x' > i && git config include.path ../i", true},
		"tab":             {"git init -q && printf '[diff\t\"x\"]\\n\ttextconv = ./x\\n' >> .git/config", true},
		"broken":          {"git init -q && echo '[' >> .git/config", true},
		"file of hooks":   {"git init -q && rm -r .git/hooks && touch .git/hooks", false}, // as core.hooksPath=/dev/null
		"hidden hooks":    {"git init -q && rm -r .git/hooks && ln -s hooks .git/hooks", true},
		"hook":            {"git init -q && echo > .git/hooks/post-index-change && chmod +x .git/hooks/post-index-change", true},
		"remote helper":   {"git init -q && git config remote.origin.url 'ext::x'", true},
		"partial clone":   {"git init -q && git config remote.origin.promisor true", true},
		"submodule":       {submodule, true},
		"its mode":        {submodule + ` && printf '\001' | dd of=.git/index bs=1 seek=39 conv=notrunc 2>/dev/null`, true}, // 160001
		"bare repository": {"git init -q --bare .", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			cmd := exec.Command("bash", "-c", c.setup)
			cmd.Dir = f.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			rules := permission.Compile("", append(permission.Defaults(), sdk.PermissionRule{Permission: "bash", Pattern: "git *", Action: sdk.ActionAllow}))
			if action, verbatim, _ := f.decide(t, rules, "git status"); (action != sdk.ActionAllow) != c.asks {
				t.Errorf("git status is %s: %s", action, verbatim)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"empty":           {map[string]any{"command": " \n"}, "command is empty"},
		"NUL":             {map[string]any{"command": "ls \x00"}, "NUL byte"},
		"too long":        {map[string]any{"command": strings.Repeat("(", 200<<10)}, "at most 131071"},
		"no such workdir": {map[string]any{"command": "ls", "workdir": "nowhere"}, "no such file"},
	} {
		_, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Prepare = %v, want an error with %q", name, err, c.want)
		}
	}
	bad := newFixture(t, "no-such-shell")
	if _, err := bad.tool.(sdk.ToolPreparer).Prepare(t.Context(), bad.call(t, map[string]any{"command": "ls"})); err == nil || !strings.Contains(err.Error(), `"no-such-shell"`) {
		t.Errorf("unknown shell: Prepare = %v", err)
	}
	if err := os.Remove(f.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": "ls"})); err == nil || !strings.Contains(err.Error(), "bash: working directory: ") {
		t.Errorf("without the directory: Prepare = %v, want an error that names the working directory, not workdir", err)
	}
}

// FuzzPrepare checks that every text is judged, as commands or as a whole, and that deep nesting costs neither the stack nor much time.
func FuzzPrepare(f *testing.F) {
	for _, text := range []string{
		"ls", "a && b || c; d & e | f |& g", "cat <<A <<-B\nx\nA\ny\n\tB\n", "f() { cd ..; f; }; f", "echo ${a[@]:1:2} $((1<<2)) `c`", "cd -- -", "\xff\xfe", "a\\\nb", "& ;;", "git -C", "git", "timeout", "env env env", "find", "sed", "x=[", "go -",
		strings.Repeat("(", 60000) + "ls" + strings.Repeat(")", 60000), strings.Repeat("$(", 30000), strings.Repeat("ls|", 40000) + "ls", strings.Repeat("for i in a;do ", 3000) + "ls", strings.Repeat("timeout 1 ", 3000) + "ls", "ls " + strings.Repeat("a* ", 300),
	} {
		f.Add(text)
	}
	fx := newFixture(f, "")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := json.Marshal(map[string]any{"command": text})
		if err != nil {
			t.Fatal(err)
		}
		var args struct{ Command string }
		_ = json.Unmarshal(data, &args) // invalid UTF-8 does not survive JSON
		requests, err := fx.tool.(sdk.ToolPreparer).Prepare(t.Context(), fx.call(t, map[string]any{"command": text}))
		if err != nil {
			return
		}
		for _, r := range requests {
			if r.Verbatim != "" && (len(r.Patterns) != 1 || r.Patterns[0] != args.Command || len(r.Always) > 0) {
				t.Fatalf("%q is shown as %q", text, r.Patterns)
			}
		}
	})
}

// A command that writes a hook of git needs permission for it, in whatever directory git looks for hooks.
func TestHooksOfGit(t *testing.T) {
	t.Parallel()
	f, _ := newProject(t, "bash")
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.hooksPath", "deep/sub"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = filepath.Dir(f.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("no git: %v: %s", err, out)
		}
	}
	if got := f.prepare(t, map[string]any{"command": "echo > sub/pre-commit"}).Edit; got != "deep/sub/pre-commit; .git/hooks/pre-commit" {
		t.Errorf("edit %q", got)
	}
}

// TestCheckingIsNoEditing: rules against editing hold for a program that writes in place, unless an option says that it only checks.
func TestCheckingIsNoEditing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "bash")
	rules := permission.Compile("/home/user", append(permission.Defaults(),
		sdk.PermissionRule{Permission: "bash", Pattern: "*", Action: sdk.ActionAllow}, sdk.PermissionRule{Permission: "edit", Pattern: "*", Action: sdk.ActionDeny}))
	for command, want := range map[string]sdk.Action{
		"black .": sdk.ActionDeny, "black --check .": sdk.ActionAllow, "black src --line-length 100 --diff": sdk.ActionAllow, "black --exclude --check src": sdk.ActionDeny,
		"isort src": sdk.ActionDeny, "isort --check-only src": sdk.ActionAllow, "uv run ruff format --check .": sdk.ActionAllow,
		"rustfmt a.rs": sdk.ActionDeny, "rustfmt --edition 2021 --check a.rs": sdk.ActionAllow,
	} {
		if have, why, judged := f.decide(t, rules, command); have != want {
			t.Errorf("%s: %s, want %s: %s %q", command, have, want, why, judged)
		}
	}
}

// TestReadingIsNoEditing: files that only the user may have edited can be shown by the programs that only read.
func TestReadingIsNoEditing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "bash")
	if err := os.WriteFile(filepath.Join(f.dir, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rules := permission.Compile("/home/user", append(permission.Defaults(),
		sdk.PermissionRule{Permission: "bash", Pattern: "*", Action: sdk.ActionAllow}, sdk.PermissionRule{Permission: "edit", Pattern: "*", Action: sdk.ActionAllow}))
	for command, want := range map[string]sdk.Action{
		"cat AGENTS.md": sdk.ActionAllow, "cat -n .claude/settings.json | head -20": sdk.ActionAllow, "cut -d, -f1 .envrc": sdk.ActionAllow, "tail -n +2 .vscode/tasks.json": sdk.ActionAllow,
		"cp a AGENTS.md": sdk.ActionAsk, "cat a > AGENTS.md": sdk.ActionAsk, "mytool AGENTS.md": sdk.ActionAsk, "cat .env": sdk.ActionAsk, "cat /etc/passwd": sdk.ActionAsk,
	} {
		if have, why, judged := f.decide(t, rules, command); have != want {
			t.Errorf("%s: %s, want %s: %s %q", command, have, want, why, judged)
		}
	}
}
