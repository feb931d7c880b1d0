package main_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

const markdownAnswer = "# Plan\n\nUse **two** caches, 日本語 too:\n\n1. one\n2. two\n\n```go\nfunc main() { println(\"hi\") } // say it\n```\n\n| key | value |\n|---|---|\n| a | 1 |\n"

// Golden screens of the main states at three sizes.
func TestTUIScreens(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name          string
		columns, rows int
	}{{"80x24", 80, 24}, {"120x40", 120, 40}, {"40x10", 40, 10}} {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.New(t,
				fakellm.Text(markdownAnswer),
				fakellm.Call("write", `{"filePath": "hello.go", "content": "package main\n\nfunc main() {}\n"}`),
				fakellm.Text("Written."),
				fakellm.Call("bash", `{"command": "printf 'one\ntwo\n'; exit 3", "description": "print"}`),
				fakellm.Text("It failed."),
			)
			p := newProcess(t, s.URL())
			x := p.onScreen(t, size.columns, size.rows, "--title", "Golden")
			shown := func(name, text string) {
				t.Helper()
				x.shows(text)
				x.golden(size.name + "-" + name)
			}
			x.shows("fake-model")
			shown("welcome", "main · ~/project")
			x.enter("how?\r")
			x.idle()
			x.golden(size.name + "-answer")
			x.enter("write it\r")
			x.shows("to change hello.go?")
			shown("edit", "› y  Yes, once")
			x.enter("y")
			x.shows("Written.")
			x.idle()
			x.golden(size.name + "-card")
			x.enter("run it\r")
			x.shows("to run this command?")
			shown("command", "› y  Yes, once")
			x.enter("y")
			x.shows("It failed.")
			x.idle()
			x.golden(size.name + "-exit")
			x.enter("\x1bOP") // F1
			shown("help", "Help")
			x.enter("q/")
			shown("menu", "/help")
			x.leaveMenu()
			x.leave()
		})
	}
}

// leaveMenu closes the menu and clears the prompt.
func (x *tui) leaveMenu() {
	x.enter("\x15") // ctrl+u
	x.hides("/help")
}

// A conversation: the answer streams, the footer has the figures, and the terminal gets answer, files and the way back.
func TestTUIConversation(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t,
		fakellm.Text("I write it.").Call("write", `{"filePath": "a.txt", "content": "one\n"}`),
		fakellm.Text("It is **done**."),
	)
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("make a.txt\r")
	x.shows("to change a.txt?")
	x.shows("› y  Yes, once")
	x.enter("a")
	x.shows("It is done.")
	screen := x.idle()
	for _, want := range []string{"✓ write a.txt", "+1 -0", "fake-model", "build"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen has no %q:\n%s", want, screen)
		}
	}
	rest := x.leave()
	for _, want := range []string{"It is done.", "1 file changed, +1 -0", "a.txt", "tenon tui -s ses_"} {
		if !strings.Contains(rest, want) {
			t.Errorf("after the end, the terminal has no %q:\n%s", want, rest)
		}
	}
	out, _ := p.output(t, 0, "permission", "list")
	if !strings.Contains(out, "edit") {
		t.Errorf("\"always\" was not stored: %s", out)
	}
}

// Answers to a permission: this session, no with a reason, no.
func TestTUIPermission(t *testing.T) {
	t.Parallel()
	touch := func(name string) fakellm.Reply {
		return fakellm.Call("bash", `{"command": "touch `+name+`", "description": "make"}`)
	}
	s := fakellm.New(t, touch("one"), touch("two"), fakellm.Call("bash", `{"command": "rm one", "description": "remove"}`),
		fakellm.Text("Kept."), fakellm.Call("bash", `{"command": "rm two", "description": "remove"}`))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 90, 30, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("Yes, in this session: bash touch *")
	x.shows("› y  Yes, once")
	x.enter("s")
	x.shows("rm one")
	x.shows("› y  Yes, once")
	x.enter("\x1b[B\x1b[B\x1b[B\x1b[B\r") // down to "No, and say why"
	x.shows("What should the model do instead?")
	x.enter("keep it\r")
	x.shows("Kept.")
	x.idle()
	x.enter("again\r")
	x.shows("to run this command?")
	x.shows("› y  Yes, once")
	x.enter("n")
	x.shows("✗ bash")
	x.until("the end", func(screen string) bool { return !strings.Contains(screen, "waiting for your answer") })
	x.leave()
	if turns := s.Turns(); !strings.Contains(string(turns[3].Raw), "keep it") {
		t.Errorf("the reason did not reach the model: %s", turns[3].Raw)
	}
}

// Esc interrupts, and the next key is not lost.
func TestTUIInterrupt(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("The beginning").Stall(), fakellm.Text("Second answer."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("The beginning")
	x.enter("\x1b")
	x.shows("interrupted;")
	x.enter("next\r")
	x.shows("Second answer.")
	x.leave()
}

// Prompts sent during a turn wait; Up takes the last one back, ctrl+x w lists them.
func TestTUIQueue(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakellm.New(t, fakellm.Text("First.").Wait(hold), fakellm.Text("Second."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("one\r")
	x.shows("working")
	x.enter("two\r")
	x.shows("waits two")
	x.enter("three\r")
	x.shows("waits three")
	x.enter("\x1b[A") // up
	x.shows("› three")
	x.hides("waits three")
	x.enter("\x15") // ctrl+u
	x.enter("\x18w")
	x.shows("Waiting prompts")
	x.enter("\x04") // ctrl+d
	x.hides("waits two")
	x.enter("\x1b")
	x.hides("Waiting prompts")
	x.enter("four\r")
	x.shows("waits four")
	close(hold)
	x.shows("Second.")
	x.leave()
	requests := s.Turns()
	if last := string(requests[len(requests)-1].Raw); strings.Contains(last, `"content":"two"`) || strings.Contains(last, `"content":"three"`) || !strings.Contains(last, "four") {
		t.Errorf("the model got %s", last)
	}
}

// Shift+Tab: accepted edits do not ask, plan uses the plan agent.
func TestTUIModes(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("write", `{"filePath": "a.txt", "content": "one\n"}`), fakellm.Text("Edited."), fakellm.Text("Planned."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("build · fake-model")
	x.enter("\x1b[Z")
	x.shows("accept edits")
	x.enter("edit\r")
	x.shows("Edited.")
	x.idle()
	x.enter("\x1b[Z")
	x.shows("plan · fake-model")
	x.enter("plan\r")
	x.shows("Planned.")
	x.enter("\x1b[Z")
	x.shows("build · fake-model")
	x.leave()
}

// A shell line asks, runs and is seen by the model with the next prompt.
func TestTUIShell(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("I see it."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("!echo marker-$((40+2)); exit 3\r")
	x.shows("to run this command?")
	x.shows("› y  Yes, once")
	x.shows("○ bash echo marker-")
	x.enter("y")
	x.shows("marker-42")
	x.shows("exit status 3")
	x.hides("<bash_metadata>")
	x.hides("working") // undo needs the end of the turn, which may come later than its output
	x.enter("\x18u")   // the line is given back, not its output
	x.shows("› !echo marker-$((40+2)); exit 3")
	x.hides("marker-42")
	x.enter("\x18r")
	x.shows("marker-42")
	x.hides("› !echo")
	x.enter("what did it print?\r")
	x.shows("I see it.")
	x.leave()
	if turns := s.Turns(); !strings.Contains(string(turns[0].Raw), "marker-42") {
		t.Errorf("the model got %s", turns[0].Raw)
	}
}

// While a shell line runs, the screen shows its latest output, then the first and last lines.
func TestTUIShellOutput(t *testing.T) {
	t.Parallel()
	p := newProcess(t, fakellm.New(t).URL())
	x := p.onScreen(t, 80, 24, "--title", "x", "--auto")
	gate := filepath.Join(p.work, "gate")
	must(t, syscall.Mkfifo(gate, 0o600))
	x.shows("Ask anything")
	x.enter("!seq 101 140; cat gate\r")
	x.shows("● bash seq 101 140; cat gate")
	x.shows("│ 140")
	must(t, os.WriteFile(gate, []byte("end\n"), 0o600))
	x.hides("● bash")
	screen := x.shows("┃ … 30 more lines")
	for text, want := range map[string]bool{"┃ $ seq 101 140": true, "┃ 107": true, "108": false, "137": false, "┃ 138": true, "┃ end": true} {
		if strings.Contains(screen, text) != want {
			t.Errorf("%q is on the screen: %t\n%s", text, !want, screen)
		}
	}
	x.enter("\x0f") // ctrl+o
	x.shows("┃ 137")
	x.leave()
}

// Sessions are renamed, forked, deleted and continued; undo and redo change files and messages.
func TestTUISessions(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("write", `{"filePath": "a.txt", "content": "one\n"}`), fakellm.Text("First answer."), fakellm.Text("Other answer."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x", "--auto")
	x.shows("build · auto · fake-model")
	x.enter("\x18s")
	x.shows("mode        auto")
	x.enter("q")
	x.shows("Ask anything")
	x.enter("first prompt\r")
	x.shows("First answer.")
	x.idle()
	file := filepath.Join(p.work, "a.txt")
	x.enter("\x18u") // ctrl+x u
	x.shows("undone")
	x.shows("› first prompt")
	x.hides("First answer.")
	if _, err := os.Stat(file); err == nil {
		t.Error("undo left the file")
	}
	x.enter("\x18r")
	x.shows("1 file and the messages restored")
	x.shows("First answer.")
	x.hides("› first prompt")
	if _, err := os.Stat(file); err != nil {
		t.Error("redo did not bring the file back")
	}
	x.enter("/new\r")
	x.hides("First answer.")
	x.enter("other prompt\r")
	x.shows("Other answer.")
	x.idle()
	x.enter("\x18l")
	x.shows("2 of 2")
	x.enter("\x12") // ctrl+r: rename
	x.shows("Rename the session")
	x.enter("\x15new name\r")
	x.shows("• new name")
	x.enter("\x1b[B\x04") // the other one, ctrl+d
	x.shows("press ctrl+d again")
	x.enter("\x04")
	x.shows("1 of 1")
	x.enter("\x06") // ctrl+f: fork
	x.shows("continuing in a copy")
	x.shows("Other answer.") // it has been read
	x.enter("\x18g")
	x.shows("Timeline")
	x.shows("• other prompt")
	x.enter("\x1b")
	x.hides("Timeline")
	x.leave()
}

// The session of a subagent can be entered. Its tokens and cost count for the turn and the conversation.
func TestTUISubagent(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	used := fakellm.Usage{Input: 1000, Output: 500}
	s := fakellm.New(t,
		fakellm.Call("task", `{"description": "look", "prompt": "look around", "subagent_type": "general"}`).Usage(used),
		fakellm.Text("Deep answer.").Wait(hold).Usage(used), fakellm.Text("Top answer.").Usage(used))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 100, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("ctrl+x ↓ opens its session") // also while it works
	x.enter("\x18\x1b[B")
	x.shows("esc returns")
	x.enter("\x1b")
	x.shows("esc interrupts")
	close(hold)
	x.shows("Top answer.")
	x.idle()
	x.shows("3.0k in, 1.5k out · $0.0060")
	x.shows("(1%) · $0.0060")
	x.enter("\x18\x1b[B") // ctrl+x down
	x.shows("Deep answer.")
	x.shows("subagent's session")
	x.enter("\x18\x1b[A")
	x.shows("Top answer.")
	x.leave()
	x = p.onScreen(t, 100, 24, "-c")
	x.shows("(1%) · $0.0060")
	x.enter("/status\r")
	x.shows("3.0k in")
	x.shows("with 1 subagent")
	x.enter("q")
	x.hides("with 1 subagent")
	x.leave()
}

// Questions of the model: an option, and an own answer.
func TestTUIQuestions(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t,
		fakellm.Call("question", `{"questions": [{"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}]},
			{"question": "Which name?", "header": "Name", "options": [{"label": "main", "description": "as usual"}]}]}`),
		fakellm.Text("Understood."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("1 of 2 · Which database?")
	x.shows("› 1.")
	x.enter("2")
	x.shows("2 of 2 · Which name?")
	x.enter("\x1b[Bmy own\r")
	x.shows("Understood.")
	x.leave()
	if turns := s.Turns(); !strings.Contains(string(turns[1].Raw), "Postgres") || !strings.Contains(string(turns[1].Raw), "my own") {
		t.Errorf("the model got %s", turns[1].Raw)
	}
}

// The task list stays on the screen.
func TestTUITodos(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("todowrite", `{"todos": [{"content": "Read it", "status": "completed", "priority": "high"}, {"content": "Fix it", "status": "in_progress", "priority": "low"}]}`),
		fakellm.Text("On it."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("tasks 1/2")
	x.shows("▸ Fix it")
	x.shows("On it.")
	x.leave()
}

// Pickers, help and the palette.
func TestTUIPickers(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t)
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24)
	x.shows("fake-model")
	x.enter("\x18m")
	x.shows("• fake/fake-model")
	x.enter("zzz")
	x.shows("nothing matches")
	x.enter("\x1b")
	x.hides("nothing matches")
	x.enter("/agent \r")
	x.shows("Agent")
	x.enter("plan\r")
	x.shows("plan · fake-model")
	x.enter("\x10") // ctrl+p
	x.shows("Commands")
	x.enter("theme\r")
	x.shows("Theme")
	x.enter("light\r")
	x.enter("/modle\r")
	x.shows("did you mean /mod")
	x.enter("\x15@")
	x.shows("agent · ")
	x.enter("\x1b")
	x.hides("agent · ")
	x.enter("\x15/model nosuch/model\r")
	x.shows("nosuch/model")
	x.leave()
	kept, err := os.ReadFile(filepath.Join(p.dataDir(), "tui.json"))
	if err != nil || string(kept) != "{\"theme\":\"light\"}\n" {
		t.Errorf("settings: %q, %v", kept, err)
	}
}

// @ completes files, a long paste becomes a chip that the model gets in full.
func TestTUIFilesAndPastes(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Read."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	if err := os.WriteFile(filepath.Join(p.work, "notes.txt"), []byte("the secret word is plum\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.shows("Ask anything")
	x.enter("/new\r") // lists the files again
	x.enter("see @notes.txt and ")
	paste := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	begun := time.Now()
	x.enter("\x1b[200~" + paste + "\x1b[201~")
	x.shows("[Pasted 65536 lines]")
	t.Logf("a paste of 1 MiB was shown after %v", time.Since(begun))
	x.enter("\r")
	x.shows("Read.")
	x.leave()
	if raw := string(s.Turns()[0].Raw); !strings.Contains(raw, "plum") || strings.Count(raw, "0123456789abcde") != 1<<16 {
		t.Errorf("the model got %d bytes", len(raw))
	}
}

// A resize during a stream redraws what fits, and wide characters stay whole.
func TestTUIResize(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakellm.New(t, fakellm.Text(strings.Repeat("日本語のテキスト ", 40)).Wait(hold).Text("\n\nThe end."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("日本語")
	x.resized(20, 3)
	x.shows("enlarge the window")
	for _, size := range [][2]int{{40, 10}, {33, 12}, {120, 40}, {61, 20}} {
		x.resized(size[0], size[1])
		x.until("the rule", func(screen string) bool { return strings.Contains(screen, "\n"+strings.Repeat("─", size[0])+"\n") })
	}
	x.mu.Lock()
	x.emulator.Resize(61, 30)
	_, _ = x.emulator.WriteString("\x1b[1;20r") // the end of a frame of the old size, which arrives after the resize
	x.mu.Unlock()
	x.resize(30, 61)
	x.until("the footer below the rule", func(screen string) bool {
		return strings.Contains(screen, "\n"+strings.Repeat("─", 61)+"\n› Write") && strings.Contains(screen, "\n build ·")
	})
	close(hold)
	x.shows("The end.")
	screen := x.idle()
	if strings.Contains(screen, "\ufffd") {
		t.Errorf("broken characters:\n%s", screen)
	}
	x.leave()
}

// Output of programs and models cannot control the terminal.
func TestTUIHostileText(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("safe\x1b]0;owned\a\x1b[2J\u202eevil"), fakellm.Call("bash", `{"command": "printf 'a\\033[2Jb\\033]52;c;Zm9v\\007c'", "description": "x"}`), fakellm.Text("Done."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x", "--auto")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("safe")
	x.idle()
	x.enter("/copy\r")
	x.shows("copied")
	x.idle()
	x.enter("run\r")
	x.shows("Done.")
	x.mu.Lock()
	all := x.text.String()
	x.mu.Unlock()
	_, copied, _ := strings.Cut(all, "\x1b]52;c;") // what a shell gets if the user pastes it
	copied, _, _ = strings.Cut(copied, "\a")
	if text, err := base64.StdEncoding.DecodeString(copied); err != nil || !strings.HasPrefix(string(text), "safe") || strings.ContainsAny(string(text), "\x1b\a\u202e") {
		t.Errorf("the clipboard got %q, %v", text, err)
	}
	for _, bad := range []string{"\x1b]0;owned", "\x1b]52;c;Zm9v", "\u202e"} {
		if strings.Contains(all, bad) {
			t.Errorf("the terminal got %q", bad)
		}
	}
	x.leave()
}

// Without colors, no sequence sets one; TERM=dumb and pipes get a remedy.
func TestTUIPlainTerminals(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text(markdownAnswer))
	p := newProcess(t, s.URL())
	p.env = append(p.env, "NO_COLOR=1")
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("Plan")
	x.idle()
	x.leave()
	if bad := regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7])(?:;[0-9;]*)?m`).FindString(x.text.String()); bad != "" {
		t.Errorf("NO_COLOR is set, but the terminal got %q", bad)
	}
	p = newProcess(t, s.URL())
	p.env = append(p.env, "TERM=dumb")
	for _, args := range [][]string{{"tui"}, nil, {"-c"}} {
		dumb := p.onTerminal(t, args...)
		dumb.expect("use tenon chat or tenon run")
		if code := dumb.code(); code != 2 {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
}
