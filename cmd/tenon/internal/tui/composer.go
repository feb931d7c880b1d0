package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// remember returns a command that stores a prompt in the history, unless it is blank or may contain a key.
func (m *model) remember(text string) tea.Cmd {
	m.history.Sent()
	if strings.TrimSpace(text) == "" || m.mayHoldKey(text) {
		return nil
	}
	store := m.history.Add(text)
	if store == nil {
		return nil
	}
	return func() tea.Msg {
		if err := store(); err != nil {
			return then(func() { m.forgot(err) })
		}
		return nil
	}
}

// quit ends the program at a signal, and stores a draft in the history.
func (m *model) quit() { m.start(tea.Sequence(m.remember(m.draft()), tea.Quit)) }

// draft returns the input as text for the history, with mentions of attached files at the end.
func (m *model) draft() string {
	text, files := m.input.Text()
	for _, path := range files {
		if text != "" {
			text += " "
		}
		text += input.Mention(path)
	}
	return text
}

// forgot reports the first failure to store the history, unless a problem is on the screen: it probably has the same cause.
func (m *model) forgot(err error) {
	if m.forgets {
		return
	}
	m.forgets = true
	text := m.o.clean("the prompt history is not stored: " + err.Error())
	m.log = append(m.log, text)
	if !m.toast.bad {
		m.problem(text)
	}
}

// run runs a command or a shell line, or sends a prompt to the model. If it can do neither, it restores the input.
func (m *model) run(draft edit.Editor, text string, files []string) {
	line := strings.TrimSpace(text)
	word, args, _ := strings.Cut(text, " ")
	name, slash := strings.CutPrefix(word, "/")
	switch {
	case line == "!" && text[0] == '!':
		m.input = draft
		m.problem("write a shell command after the !, as in !git status")
	case strings.HasPrefix(text, "!"):
		in := m.promptInput(strings.TrimSpace(text[1:]), nil)
		in.Shell, in.NoReply = true, true
		m.send(in)
	case slash && m.runCommand(strings.TrimSpace(name), strings.TrimSpace(args), files):
	case slash && !isPath(name):
		m.input = draft
		m.problem("unknown command /" + terminal.OneLine(name) + "; " + m.meant(name) + ` To send it as a prompt, put a space before the "/"`)
	case line == "exit" || line == "quit" || line == ":q":
		m.start(tea.Quit)
	default:
		m.submit(text, files)
	}
}

// elsewhere maps commands of other agents to those of tenon in a shell.
var elsewhere = map[string]string{
	"config": "config", "doctor": "doctor", "export": "session export", "logout": "auth logout", "mcp": "mcp", "permissions": "permission", "plugin": "plugin", "plugins": "plugin",
}

// meant suggests a command for an unknown name, as a sentence.
func (m *model) meant(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if shell := elsewhere[first]; shell != "" {
		return "in a shell, run: tenon " + shell + "."
	}
	names := cli.Mapped(m.commandList(), func(c *command) string { return c.name })
	if near := nearest.Name(first, names); near != "" {
		return "did you mean /" + near + "?"
	}
	return "/help lists the commands."
}

// clipboardTools read an image from the clipboard: Wayland, X11, macOS.
var clipboardTools = [][]string{
	{"wl-paste", "--type", "image/png"},
	{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	{"pngpaste", "-"},
}

// clipboardTool returns a command for the clipboard, which survives Ctrl-Z: others read the clipboard from the process that wrote it.
func (m *model) clipboardTool(ctx context.Context, words []string) (*exec.Cmd, error) {
	path, err := projectfs.LookPath(words[0], m.o.worktree)
	if err != nil {
		return nil, err
	}
	run := exec.CommandContext(ctx, path, words[1:]...)
	run.Env = append(run.Environ(), "PATH="+projectfs.Path(os.Getenv("PATH"), m.o.worktree), "LC_CTYPE=UTF-8") // the latter for pbcopy
	child.OwnSession(run)
	return run, nil
}

// pasteImage attaches the image in the clipboard.
func (m *model) pasteImage() {
	m.do(func(ctx context.Context) (then, error) {
		problem := "no tool to read an image from the clipboard: install wl-paste, xclip or pngpaste, or paste the path of a file"
		for _, tool := range clipboardTools {
			run, err := m.clipboardTool(ctx, tool)
			if err != nil {
				continue
			}
			data, err := run.Output()
			if err != nil || len(data) == 0 { // no image, or a tool for another display server
				problem = "the clipboard has no image"
				continue
			}
			file, err := m.images.add(data)
			return func() { attach(&m.input, file) }, err
		}
		return m.note(problem), nil
	})
}

// images are the temporary files of pasted images. The methods are safe for concurrent use.
type images struct {
	mu      sync.Mutex
	names   []string
	removed bool
}

// add creates the file of an image, until remove is called.
func (i *images) add(data []byte) (name string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.removed {
		return "", os.ErrClosed
	}
	f, err := os.CreateTemp("", "tenon-image-*.png")
	if err != nil {
		return "", err
	}
	i.names = append(i.names, f.Name())
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

// remove removes the files. The system cleans up those that cannot be removed.
func (i *images) remove() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removed = true
	for _, name := range i.names {
		_ = os.Remove(name)
	}
}

// copyTools are the programs that write to the clipboard on Wayland, X11 and macOS.
var copyTools = [][]string{{"wl-copy", "--type", "text/plain"}, {"xclip", "-selection", "clipboard"}, {"pbcopy"}}

// copy puts a text into the clipboards of the terminal's machine and of this one, because many terminals ignore the request.
func (m *model) copy(text string) {
	m.start(tea.SetClipboard(text))
	m.do(func(ctx context.Context) (then, error) {
		for _, tool := range copyTools {
			if run, err := m.clipboardTool(ctx, tool); err == nil {
				run.Stdin = strings.NewReader(text)
				if run.Run() == nil {
					break
				}
			}
		}
		return nil, nil
	})
}

// attach inserts files into an editor.
func attach(e *edit.Editor, files ...string) {
	for _, path := range files {
		kind := "File "
		if edit.IsImage(path) {
			kind = "Image "
		}
		e.InsertChip(edit.Chip{Label: "[" + kind + view.Clip(terminal.OneLine(filepath.Base(path)), 40) + "]", File: path})
	}
}

// editExternally opens the prompt in the user's editor.
func (m *model) editExternally() {
	text, files := m.input.Text()
	words := m.o.editor
	switch {
	case len(files) > 0:
		m.problem("attached files cannot be edited; remove them first")
		return
	case len(words) == 0:
		m.problem("no editor is set; set VISUAL or EDITOR")
		return
	}
	m.do(func(context.Context) (then, error) {
		program, err := projectfs.LookPath(words[0], m.o.worktree)
		if err != nil {
			return nil, fmt.Errorf("edit the prompt: %w", err)
		}
		dir, err := os.MkdirTemp("", "tenon-prompt-") // editors create other files next to the prompt
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "prompt.md")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		run := exec.Command(program, append(words[1:], file)...)
		run.Stdin = m.o.terminal
		edited := tea.ExecProcess(run, func(err error) tea.Msg {
			data, readErr := os.ReadFile(file)
			if err = errors.Join(err, readErr, os.RemoveAll(dir)); err != nil {
				err = fmt.Errorf("edit the prompt: %w", err)
			}
			return then(func() {
				if m.editors.Done(); err != nil {
					m.failed(err)()
				} else {
					m.input.Set(strings.TrimRight(string(data), "\n"))
				}
			})
		})
		return func() {
			m.editors.Add(1)
			m.start(edited)
		}, nil
	})
}
