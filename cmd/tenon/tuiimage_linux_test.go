package main_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// A pasted path of an image and the image in the clipboard become chips, which a key deletes whole, and reach the model as images.
func TestTUIImages(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Two cats."))
	p := newProcess(t, s.URL())
	p.env = append(p.env, "TENON_CONFIG_CONTENT="+strings.Replace(fakeConfig(s.URL()), `"fake-model": {`, `"fake-model": {"attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}, `, 1))
	dir := t.TempDir()
	draw := func(name string, width int) string {
		t.Helper()
		var b bytes.Buffer
		must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))))
		must(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	}
	cat, copied := draw("my cat.png", 3), draw("copied", 5)
	must(t, os.WriteFile(filepath.Join(dir, "wl-paste"), []byte("#!/bin/sh\nexit 1\n"), 0o700)) // the screen is not of its kind
	must(t, os.WriteFile(filepath.Join(dir, "xclip"), []byte("#!/bin/sh\nexec cat '"+filepath.Join(dir, "copied")+"'\n"), 0o700))
	clipboard := filepath.Join(dir, "clipboard")
	must(t, syscall.Mkfifo(clipboard, 0o600))
	answers, err := os.OpenFile(clipboard, os.O_RDWR|syscall.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { answers.Close() })
	must(t, os.WriteFile(filepath.Join(dir, "wl-copy"), []byte(`#!/bin/sh
{
	case $PATH in */project/bin:*) echo in the project;; esac
	[ "$(cut -d ' ' -f 6 /proc/$$/stat)" = $$ ] || echo in the session of tenon
	echo "$*"
	cat
} >'`+clipboard+`'
`), 0o700))
	p.inProject(t)
	temporary := filepath.Join(dir, "tmp")
	p.env = append(p.env, "PATH="+strings.Join([]string{filepath.Join(p.work, "bin"), dir, os.Getenv("PATH")}, string(os.PathListSeparator)), "TMPDIR="+temporary)
	clean := func() { // as the system does after some days
		must(t, os.RemoveAll(temporary))
		must(t, os.Mkdir(temporary, 0o700))
	}
	clean()
	x := p.onScreen(t, 100, 24, "--title", "x")
	x.shows("Ask anything")
	path := strings.ReplaceAll(filepath.Join(dir, "my cat.png"), " ", `\ `)
	x.enter("look at \x1b[200~" + path + "\x1b[201~")
	x.shows("look at [Image my cat.png]")
	x.enter("\x7f")
	x.hides("my cat")
	x.enter("\x1b[200~'" + filepath.Join(dir, "my cat.png") + "'\x1b[201~ and ")
	x.shows("[Image my cat.png] and")
	clean()
	x.enter("\x16") // ctrl+v
	x.shows("and [Image tenon-image-")
	missing := "\x1b[200~" + filepath.Join(dir, "dog.png") + "\x1b[201~"
	x.enter(missing + "\r")
	x.shows("error: attach")
	x.shows("[Image dog.png]") // the prompt returns with its images
	x.enter("\x7f\r")
	x.shows("Two cats.")
	x.shows("my cat.png")
	x.enter("\x18y") // ctrl+x y
	must(t, answers.SetReadDeadline(time.Now().Add(patience)))
	const want = "--type text/plain\nTwo cats."
	text := make([]byte, len(want))
	if n, err := io.ReadFull(answers, text); err != nil || string(text) != want {
		t.Errorf("the clipboard tool got %q, %v, want %q", text[:n], err, want)
	}
	x.leave()
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("temporary files %q are left, %v", left, err)
	}
	messages := s.Turns()[0].Messages()
	last := messages[len(messages)-1]
	if want := []string{cat, copied}; !slices.Equal(last.Files, want) {
		t.Errorf("the model got the files %.200q, want %.200q", last.Files, want)
	}
	if !strings.Contains(last.Text, "look at") || strings.Contains(last.Text, "[Image") {
		t.Errorf("the model got the text %q", last.Text)
	}
}
