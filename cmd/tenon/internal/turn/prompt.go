package turn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// MaxStdin bounds a prompt from stdin, in bytes: more does not fit any model's context.
	MaxStdin = 8 << 20
	// stdinNotice is how long stdin may keep a run waiting before it says so.
	stdinNotice = 2 * time.Second
)

// promptText is the prompt of a run: what the user wrote, in which @file is looked for, and what was piped
// in beside it, which is taken as it is.
type promptText struct {
	text  string
	piped string
}

// readPrompt joins the arguments and stdin, which is read when it is piped or "-" asks for it.
//
// With lines, stdin holds further prompts and is left alone; the first prompt may be missing then.
func readPrompt(ctx context.Context, a *cli.App, args []string, optional, lines bool) (promptText, error) {
	var words []string
	dash := false
	for _, arg := range args {
		if arg == "-" {
			dash = true
			continue
		}
		words = append(words, arg)
	}
	p := promptText{text: strings.TrimSpace(strings.Join(words, " "))}
	if lines {
		return p, nil
	}
	if dash || isPiped(a.In) {
		text, err := readStdin(ctx, a)
		if err != nil {
			return p, err
		}
		if p.text == "" && !optional {
			p.text = text
		} else {
			p.piped = text
		}
	}
	if p.text == "" && p.piped == "" && !optional {
		return p, cli.UsageError(`write it behind run, as in tenon run "explain this project", or pipe it in`, "there is no prompt")
	}
	return p, nil
}

// isPiped reports whether something was piped into f: a pipe, a file or a socket, but neither a terminal
// nor /dev/null.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && info.Mode()&os.ModeDevice == 0
}

// readStdin reads all of stdin as text. ctx ends the wait for it.
func readStdin(ctx context.Context, a *cli.App) (string, error) {
	type outcome struct {
		data []byte
		err  error
	}
	read := make(chan outcome, 1)
	// Ends with stdin or the process: a read of a pipe cannot be called off.
	go func() {
		data, err := io.ReadAll(io.LimitReader(a.In, MaxStdin+1))
		read <- outcome{data, err}
	}()
	notice := time.NewTimer(stdinNotice)
	defer notice.Stop()
	for {
		select {
		case <-notice.C:
			a.Screen.Line("waiting for stdin to end, which is part of the prompt (</dev/null leaves it out)")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case r := <-read:
			return stdinText(r.data, r.err)
		}
	}
}

func stdinText(data []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", cli.UsageError("pipe text in, or leave stdin alone with </dev/null", "read stdin: %w", cli.Cause(err))
	case len(data) > MaxStdin:
		return "", cli.UsageError("save it as a file, name the file in the prompt and let the model read what it needs", "stdin has more than %d MiB", MaxStdin>>20)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", cli.UsageError("attach files with -f FILE", "stdin is not text in UTF-8")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// attachments returns the parts for files to attach. Relative paths start where the command was called.
func attachments(paths []string) (sdk.Parts, error) {
	var parts sdk.Parts
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err != nil {
			return nil, cli.UsageError("check the path", "attach %q: %w", path, cli.Cause(err))
		}
		parts = append(parts, &sdk.FilePart{Filename: filepath.Base(abs), URL: host.FileURL(abs)})
	}
	return parts, nil
}

// readSchema reads the JSON schema of an answer.
func readSchema(path string) (*sdk.OutputFormat, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.UsageError("check the path", "schema %q: %w", path, cli.Cause(err))
	}
	var object sdk.Object
	if err := object.UnmarshalJSON(data); err != nil || object == nil {
		if err == nil {
			err = errors.New("want an object")
		}
		return nil, cli.UsageError("write a JSON schema of type object", "schema %q: %w", path, err)
	}
	if t, ok := object["type"]; ok && t != "object" {
		return nil, cli.UsageError(`give it the type "object"; wrap lists and values in a property`, "schema %q: the type is %v", path, t)
	}
	return &sdk.OutputFormat{Type: sdk.FormatJSONSchema, Schema: data}, nil
}
