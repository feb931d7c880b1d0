package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/nearest"
)

// remember stores a prompt in the history, unless it may hold a key.
func (m *model) remember(text string) tea.Cmd {
	m.history.Sent()
	if m.mayHoldKey(text) {
		return nil
	}
	return func() tea.Msg {
		if err := m.history.File.Add(text); err != nil {
			return forgottenMsg{err}
		}
		return nil
	}
}

// forgottenMsg is the error of a prompt that was not stored in the history.
type forgottenMsg struct{ error }

// forgot reports the first error of the history. The cause often has worse effects too, which are shown instead.
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

// run does what a prompt says: a command, a shell line, or a prompt for the model.
func (m *model) run(text string, files []string) tea.Cmd {
	switch line := strings.TrimSpace(text); {
	case strings.HasPrefix(text, "!") && len(line) > 1:
		in := m.promptInput(strings.TrimSpace(text[1:]), nil)
		in.Shell, in.NoReply = true, true
		return m.send(in)
	case strings.HasPrefix(text, "/") && len(files) == 0:
		name, args, _ := strings.Cut(text[1:], " ")
		if cmd, ok := m.runCommand(strings.TrimSpace(name), strings.TrimSpace(args)); ok {
			return cmd
		}
		if !isPath(name) {
			m.input.Set(text)
			fix := "/help lists the commands"
			first, _, _ := strings.Cut(name, "/")
			if near := nearest.Name(first, m.commandNames()); near != "" {
				fix = "did you mean /" + near + "?"
			}
			m.problem("unknown command /" + terminal.OneLine(name) + "; " + fix + ` To send it as a prompt, put a space before the "/"`)
			return nil
		}
	case line == "exit" || line == "quit" || line == ":q":
		return tea.Quit
	}
	return m.submit(text, files)
}

// pasteLabel describes a long paste.
func pasteLabel(lines, size int) string {
	if lines > 1 {
		return "[Pasted " + view.Plural(lines, "line") + "]"
	}
	return fmt.Sprintf("[Pasted %d characters]", size)
}

func fileLabel(path string) string {
	name := view.Clip(terminal.OneLine(filepath.Base(path)), 40)
	if isImage(path) {
		return "Image " + name
	}
	return "File " + name
}

func isImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// imagePath returns the path of an image if that is all that was pasted: terminals paste paths of dropped files.
func imagePath(text string) string {
	text = strings.Trim(strings.TrimSpace(text), `'"`)
	text = strings.ReplaceAll(strings.TrimPrefix(text, "file://"), `\ `, " ")
	if strings.Contains(text, "\n") || !filepath.IsAbs(text) || !isImage(text) {
		return ""
	}
	return text
}

// clipboardTools read an image from the clipboard: Wayland, X11, macOS.
var clipboardTools = [][]string{
	{"wl-paste", "--type", "image/png"},
	{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	{"pngpaste", "-"},
}

// pasteImage attaches the image in the clipboard.
func (m *model) pasteImage() tea.Cmd {
	return m.do(func(ctx context.Context) (tea.Msg, error) {
		for _, tool := range clipboardTools {
			path, err := exec.LookPath(tool[0])
			if err != nil {
				continue
			}
			data, err := exec.CommandContext(ctx, path, tool[1:]...).Output()
			if err != nil || len(data) == 0 {
				return toastMsg{text: "the clipboard has no image"}, nil
			}
			f, err := m.o.temporary.create("image-*.png")
			if err != nil {
				return nil, err
			}
			_, err = f.Write(data)
			return imageMsg(f.Name()), errors.Join(err, f.Close())
		}
		return toastMsg{text: "no tool to read an image from the clipboard: install wl-paste, xclip or pngpaste, or paste the path of a file"}, nil
	})
}

// imageMsg is the path of an image from the clipboard.
type imageMsg string

// editExternally opens the prompt in the user's editor.
func (m *model) editExternally() tea.Cmd {
	text, files := m.input.Text()
	if len(files) > 0 {
		m.problem("attached files cannot be edited; remove them first")
		return nil
	}
	words := strings.Fields(m.o.editor)
	if len(words) == 0 {
		m.problem("no editor is set; set VISUAL or EDITOR")
		return nil
	}
	return m.do(func(context.Context) (tea.Msg, error) {
		f, err := m.o.temporary.create("prompt-*.md")
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		return tea.ExecProcess(exec.Command(words[0], append(words[1:], f.Name())...), func(err error) tea.Msg { // the user's choice
			data, readErr := os.ReadFile(f.Name())
			if err = errors.Join(err, readErr, os.Remove(f.Name())); err != nil {
				return problemMsg{fmt.Errorf("edit the prompt: %w", err)}
			}
			return editedMsg{strings.TrimRight(string(data), "\n")}
		})(), nil
	})
}
