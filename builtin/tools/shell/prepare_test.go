package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/tenonhq/tenon/sdk"
)

func (f *fixture) prepare(t *testing.T, args map[string]any) (external, bash *sdk.PermissionRequest) {
	t.Helper()
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, args))
	if err != nil {
		t.Fatalf("Prepare(%.100v): %v", args, err)
	}
	for i, request := range requests {
		switch request.Permission {
		case sdk.PermissionExternalDirectory:
			if i != 0 {
				t.Errorf("external_directory is asked for after the command")
			}
			external = &requests[i]
		case "bash":
			bash = &requests[i]
		default:
			t.Errorf("request for %q", request.Permission)
		}
	}
	return external, bash
}

func TestPreparePatterns(t *testing.T) {
	t.Parallel()
	type lists struct{ Patterns, Always []string }
	for name, c := range map[string]struct {
		command string
		want    lists
	}{
		"simple":            {"ls -la", lists{[]string{"ls -la"}, []string{"ls *"}}},
		"arity":             {"git stash pop; npm run test -- -v; docker compose up -d", lists{[]string{"git stash pop", "npm run test -- -v", "docker compose up -d"}, []string{"git stash pop *", "npm run test *", "docker compose up *"}}},
		"the example":       {"git status && mk -rf x; cat y | head -1", lists{[]string{"git status", "mk -rf x", "cat y", "head -1"}, []string{"git status *", "mk *", "cat *", "head *"}}},
		"redirects":         {"echo a > b 2>&1 | tee c", lists{[]string{"echo a > b 2>&1", "tee c", "> b"}, []string{"echo *", "tee c", "> b"}}},
		"redirect first":    {"< in sort", lists{[]string{"< in sort"}, []string{"< in sort"}}},
		"subshell":          {"(mk a; (mk b))", lists{[]string{"mk a", "mk b"}, []string{"mk *"}}},
		"substitution":      {"echo $(mk a `mk b`) \"$(mk c)\"", lists{[]string{"echo $(mk a `mk b`) \"$(mk c)\"", "mk a `mk b`", "mk b", "mk c"}, []string{"echo *", "mk *"}}},
		"process":           {"diff <(mk a) b", lists{[]string{"diff <(mk a) b", "mk a"}, []string{"diff *", "mk *"}}},
		"loops":             {"for f in $(mk a); do mk b; done; while mk c; do :; done; if mk d; then mk e; else mk f; fi", lists{[]string{"mk a", "mk b", "mk c", ":", "mk d", "mk e", "mk f"}, []string{"mk *", ": *"}}},
		"function":          {"f() { mk a; }; f x", lists{[]string{"mk a", "f x"}, []string{"mk *", "f *"}}},
		"case":              {"case $(mk a) in x) mk b;; esac", lists{[]string{"mk a", "mk b"}, []string{"mk *"}}},
		"background":        {"sleep 1 & ! mk a", lists{[]string{"sleep 1", "mk a"}, []string{"sleep *", "mk *"}}},
		"assignment":        {"A=1 B=$(mk a) git push; C=2", lists{[]string{"A=1 B=$(mk a) git push", "mk a", "C=2"}, []string{"A=1 B=$(mk a) git push", "mk *", "C=2"}}},
		"export":            {"export A=$(mk a) B", lists{[]string{"export A=$(mk a) B", "mk a"}, []string{"export A=$(mk a) B", "mk *"}}},
		"here-document":     {"cat <<X\n$(mk a)\nX\n", lists{[]string{"cat <<X\n$(mk a)\nX", "mk a"}, []string{"cat *", "mk *"}}},
		"arithmetic":        {"echo $((1 + $(mk a)))", lists{[]string{"echo $((1 + $(mk a)))", "mk a", "unjudged: $((1 + $(mk a)))"}, []string{"echo *", "mk *", "unjudged: $((1 + $(mk a)))"}}},
		"parameter":         {"echo ${x:-$(mk a)}", lists{[]string{"echo ${x:-$(mk a)}", "mk a"}, []string{"echo *", "mk *"}}},
		"test":              {"[[ -f $(mk a) ]] && mk b", lists{[]string{"mk a", "mk b"}, []string{"mk *"}}},
		"compound redirect": {"{ mk a; } > out 2> err", lists{[]string{"mk a", "> out", "> err"}, []string{"mk *", "> out", "> err"}}},
		"only a redirect":   {"> out", lists{[]string{"> out"}, []string{"> out"}}},
		"twice":             {"mk a; mk a", lists{[]string{"mk a"}, []string{"mk *"}}},
		"flag in prefix":    {"git -C x push", lists{[]string{"git -C x push"}, []string{"git -C x push"}}},
		"wrapper":           {"sudo mk a; find . -delete; xargs mk", lists{[]string{"sudo mk a", "find . -delete", "xargs mk", "mk a", "mk", "> ."}, []string{"sudo mk a", "find . -delete", "xargs mk", "mk *", "> ."}}},
		"interpreter":       {"bash -c 'mk a'; python3 x.py 1; python3 -m pytest -q", lists{[]string{"bash -c 'mk a'", "python3 x.py 1", "python3 -m pytest -q", "mk a"}, []string{"bash -c 'mk a'", "python3 x.py *", "python3 -m pytest -q", "mk *"}}},
		"short of arity":    {"git; npm", lists{[]string{"git", "npm"}, []string{"git", "npm"}}},
		"variable command":  {"$X y", lists{[]string{"$X y", "unjudged: $X y"}, []string{"$X y", "unjudged: $X y"}}},
		"glob in exact":     {"env mk *.o", lists{[]string{"env mk *.o", "mk *.o"}, []string{"mk *"}}},
		"cd alone":          {"cd sub && pushd sub && popd", lists{}},
		"cd and more":       {"cd sub && ls", lists{[]string{"ls"}, []string{"ls *"}}},
		"cd with redirect":  {"cd sub > out", lists{[]string{"cd sub > out", "> out"}, []string{"cd *", "> out"}}},
		"cd with a command": {"cd $(mk a)", lists{[]string{"mk a"}, []string{"mk *"}}},
		"unparsable":        {"mk a; echo 'open", lists{[]string{"mk a; echo 'open", "unjudged: mk a; echo 'open"}, []string{"mk a; echo 'open", "unjudged: mk a; echo 'open"}}},
		"comment":           {"# nothing", lists{[]string{"# nothing"}, []string{"# nothing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, bash := f.prepare(t, map[string]any{"command": c.command})
			var got lists
			if bash != nil {
				got = lists{bash.Patterns, bash.Always}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Prepare(%q) (-want +got):\n%s", c.command, diff)
			}
		})
	}
}

// TestPrepareExternal runs in <tmp>/project/deep, the project is <tmp>/project, beside it is <tmp>/other.
func TestPrepareExternal(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, c := range map[string]struct {
		command string
		want    string // patterns, separated by spaces, after … some of them; TMP is <tmp>
	}{
		"inside":               {"rm -rf deep/x ./y ../sibling", none},
		"absolute inside":      {"cat TMP/project/deep/x", none},
		"absolute":             {"cat TMP/other/x", "TMP/other/*"},
		"a directory":          {"ls TMP/other", "TMP/other/*"},
		"up":                   {"cat ../../other/x", "TMP/other/*"},
		"any command":          {"python3 x.py TMP/other/x", "TMP/other/*"},
		"home":                 {"cat ~/secret", "/home/nobody/*"},
		"home variable":        {"cat $HOME/a \"${HOME}/b\"", "/home/nobody/*"},
		"quoted":               {`cat "TMP/oth"'er'/x`, "TMP/other/*"},
		"escaped":              {`cat TMP/ot\her/x`, "TMP/other/*"},
		"ANSI quotes":          {`cat $'\x2fetc/hosts'`, "/etc/*"},
		"escaped glob":         {`cat TMP/other/\*/../x`, "TMP/other/*"},
		"glob":                 {"rm TMP/other/*.o", "TMP/other/*"},
		"root glob":            {"rm -rf /*", "/*"},
		"variable at end":      {"rm TMP/other/$x", "TMP/other/*"},
		"braces":               {"rm TMP/{other,x}/f", "TMP/*"},
		"redirect":             {"echo x > TMP/other/x", "TMP/other/*"},
		"append":               {"echo x >> ../../other/x", "TMP/other/*"},
		"compound redirect":    {"{ echo; } > TMP/other/x", "TMP/other/*"},
		"input":                {"wc < TMP/other/x", "TMP/other/*"},
		"both outputs":         {"ls >& TMP/other/x", "TMP/other/*"},
		"devices":              {"ls > /dev/null 2>&1 < /dev/stdin", none},
		"option value":         {"prog --file=TMP/other/x", "TMP/other/*"},
		"glued option":         {"cc -ITMP/other x.c", "TMP/other/*"},
		"key and value":        {"dd if=x of=TMP/other/x", "TMP/other/*"},
		"volume":               {"docker run -v TMP/other:/data x", "TMP/other/*"},
		"assignment":           {"D=TMP/other; rm $D/x", "TMP/other/*"},
		"loop items":           {"for f in TMP/other/*; do rm $f; done", "TMP/other/*"},
		"substitution":         {"echo $(cat TMP/other/x)", "TMP/other/*"},
		"function":             {"f() { rm TMP/other/x; }; f", "TMP/other/*"},
		"link":                 {"cat link/x", "TMP/other/*"},
		"link itself":          {"rm link", "TMP/other/*"},
		"new file via link":    {"touch link/new", "TMP/other/*"},
		"cd out":               {"cd ../.. && ls", "TMP/*"},
		"cd absolute":          {"cd TMP/other; ls", "TMP/other/*"},
		"cd home":              {"cd; ls", "/home/*"},
		"pushd":                {"pushd TMP/other", "TMP/other/*"},
		"cd down, file up":     {"cd sub && cat ../x", none},
		"cd down ; file up":    {"cd sub; cat ../../x", none},
		"new directory":        {"mkdir build && cd build && cmake ..", none},
		"cd that fails":        {"cd nowhere; cat ../../x", "TMP/*"},
		"cd maybe":             {"false && cd sub; cat ../../x", "TMP/*"},
		"cd in a subshell":     {"(cd sub); cat ../../x", "TMP/*"},
		"cd in a pipe":         {"cd sub | true; cat ../../x", "TMP/*"},
		"cd in background":     {"cd sub & cat ../../x", "TMP/*"},
		"cd in a loop":         {"cd sub; for i in 1 2 3 4; do cd ..; done", "… TMP/*"},
		"cd up and down":       {"for d in 1 2; do (cd sub; cd ..); done; cat ../x", none},
		"too many turns":       {strings.Repeat("true && cd ./sub; cd ..;", 20) + "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { cd sub; cd sub; }; " + strings.Repeat("f; ", 4000), "… /*"},
		"cd in a function":     {"f() { cd sub; }; f; cat ../../x", none},
		"cd back":              {"cd sub; cd ..; cat ../../x", "TMP/*"},
		"cd into what is gone": {"rmdir sub; cd sub; cat ../../x", "TMP/*"},
		"popd":                 {"pushd sub; popd; cat ../../x", "TMP/*"},
		"pwd":                  {"cat $(pwd)/../../x $PWD/../../x", "TMP/*"},
		"a search":             {`grep -rn "/api/users" .`, none},
		"sed":                  {"sed -n '/foo/p' x; sed s/a/b/ x", none},
		"root in tr":           {"tr / _", none},
		"a URL":                {"curl https://example.com/etc/x", none},
		"a revision":           {"git diff HEAD~1..main ../x", none},
		"script":               {"python3 -c 'open(\"/nowhere/x\")'", none},
		"unparsable":           {"cat TMP/other/x 'open", "TMP/other/*"},
		"new absolute file":    {"touch /nowhere/at/all", "/nowhere/at/*"},
		"word, no such place":  {"prog /nowhere/at/all", none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
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
			if err := os.Symlink(filepath.Join(tmp, "other"), filepath.Join(f.dir, "link")); err != nil {
				t.Fatal(err)
			}
			call := f.call(t, map[string]any{"command": strings.ReplaceAll(c.command, "TMP", tmp)})
			call.Worktree = filepath.Join(tmp, "project")
			requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if len(requests) > 0 && requests[0].Permission == sdk.PermissionExternalDirectory {
				got = strings.Join(requests[0].Patterns, " ")
			}
			want := strings.ReplaceAll(c.want, "TMP", tmp)
			if strings.HasPrefix(want, "… ") { // and more, of which nothing is promised
				if !strings.Contains(got+" ", want[len("… "):]+" ") {
					t.Errorf("Prepare(%.100q) asks for %q, want %q among it", c.command, got, want)
				}
				return
			}
			if got != want {
				t.Errorf("Prepare(%q) asks for %q, want %q", c.command, got, want)
			}
		})
	}
}

func TestPrepareWorkdir(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	outside := t.TempDir()
	if external, _ := f.prepare(t, map[string]any{"command": "ls", "workdir": outside}); external == nil {
		t.Error("a workdir outside of the project is not asked for")
	}
	if external, _ := f.prepare(t, map[string]any{"command": "ls", "workdir": "."}); external != nil {
		t.Errorf("asks for %q", external.Patterns)
	}
}

// TestPrepareDeep holds that nesting costs neither the stack nor much time.
func TestPrepareDeep(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("(", 60000) + "ls" + strings.Repeat(")", 60000),
		strings.Repeat("{ ", 25000) + "ls;" + strings.Repeat(" };", 25000),
		strings.Repeat("$(", 30000) + strings.Repeat(")", 30000),
		strings.Repeat("ls|", 40000) + "ls",
		strings.Repeat("for i in a;do ", 3000) + "ls" + strings.Repeat(";done", 3000),
		strings.Repeat("a && ", 20000) + "ls",
	} {
		f := newFixture(t, "bash")
		begin := time.Now()
		f.prepare(t, map[string]any{"command": text})
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%.20q… took %v", text, took)
		}
	}
}

// Substitutions within substitutions are judged up to a bound; beyond it the whole text is asked for.
func TestPrepareTooDeep(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("echo $(", n) + "rm a" + strings.Repeat(")", n) }
	for n, judged := range map[int]bool{100: true, 101: false} {
		text := nested(n)
		_, bash := newFixture(t, "bash").prepare(t, map[string]any{"command": text})
		if got := slices.Contains(bash.Patterns, "rm a"); got != judged {
			t.Errorf("%d deep: the innermost command is judged: %t", n, got)
		}
		if got := slices.Contains(bash.Patterns, "unjudged: "+text); got == judged {
			t.Errorf("%d deep: the text is asked for as a whole: %t", n, got)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"empty":            {map[string]any{"command": " \n"}, "command is empty"},
		"NUL":              {map[string]any{"command": "ls \x00"}, "NUL byte"},
		"too long":         {map[string]any{"command": strings.Repeat("(", 200<<10)}, "at most 131071"},
		"no such workdir":  {map[string]any{"command": "ls", "workdir": "nowhere"}, "no such file"},
		"negative timeout": {map[string]any{"command": "ls", "timeout": -1}, "negative"},
	} {
		_, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Prepare = %v, want an error with %q", name, err, c.want)
		}
	}
	bad := newFixture(t, "no-such-shell")
	_, err := bad.tool.(sdk.ToolPreparer).Prepare(t.Context(), bad.call(t, map[string]any{"command": "ls"}))
	if err == nil || !strings.Contains(err.Error(), `"no-such-shell"`) {
		t.Errorf("unknown shell: Prepare = %v", err)
	}
}

// FuzzPrepare holds that no text makes Prepare panic, and that every word of every simple command can be
// read in some pattern.
func FuzzPrepare(f *testing.F) {
	for _, seed := range []string{
		"ls", "a && b || c; d & e | f |& g", "cat <<A <<-B\nx\nA\ny\n\tB\n", "f() { cd ..; f; }; f", "for ((i=0;i<3;i++)); do cd $i; done",
		"case x in a|b) c;& *) d;; esac", "echo ${a[@]:1:2} ${b/x/y} $((1<<2)) `c \\`d\\``", "coproc X { y; }; select z in 1; do :; done",
		"time ! [[ a =~ b ]] > c", "declare -A m=([a]=b); let x=1", "echo {1..3} ~u $'\\x41' $\"x\"", "a=(1 2); ((a++))", "\xff\xfe", "cd -- -; pushd +1; popd",
		"{ { { cd ..; }; }; } </x", "a\\\nb", "<(x) >(y)", "#", "& ;;",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	fx := &fixture{host: &callHost{}, dir: dir}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		fx.tool = newFixture(t, "").tool
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
		var patterns []string
		for _, r := range requests {
			if r.Permission == "bash" {
				patterns = append(patterns, r.Patterns...)
			}
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(args.Command), "")
		if err != nil {
			if len(patterns) != 2 || patterns[0] != strings.TrimSpace(args.Command) {
				t.Fatalf("patterns %q of the unreadable %q", patterns, args.Command)
			}
			return
		}
		all := strings.Join(patterns, "\x00")
		for node := range syntax.Preorder(file) {
			call, ok := node.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				continue
			}
			if name := call.Args[0].Lit(); name == "cd" || name == "pushd" || name == "popd" {
				continue
			}
			for _, word := range call.Args {
				source := strings.TrimSpace(args.Command[word.Pos().Offset():word.End().Offset()])
				if !strings.Contains(all, source) {
					t.Fatalf("word %q of %q is in no pattern of %q", source, args.Command, patterns)
				}
			}
		}
	})
}
