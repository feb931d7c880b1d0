package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// MaxStdin is the maximum size of a prompt from stdin, in bytes. More does not fit into any model's context.
	MaxStdin = 8 << 20
	// stdinNotice is the time after which a run reports that it waits for stdin.
	stdinNotice = 2 * time.Second
)

// promptText is the prompt of a run: text from the user, in which @file is resolved, and piped text, which is used verbatim.
type promptText struct {
	text  string
	piped string
}

// readPrompt returns the prompt from the arguments and stdin, which is read if it is piped or an argument is "-". A signal ends that.
//
// If lines is set, it does not read stdin, which contains more prompts, and the first prompt may be missing.
func readPrompt(ctx context.Context, a *cli.App, args []string, signals <-chan os.Signal, optional, lines bool) (promptText, error) {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	dash := len(words) < len(args)
	p := promptText{text: strings.TrimSpace(strings.Join(words, " "))}
	if lines {
		return p, nil
	}
	if dash || isPiped(a.In) {
		text, err := readStdin(ctx, a, signals)
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
		return p, cli.UsageError(`pass it as an argument, as in tenon run "explain this project", or pipe it in`, "no prompt")
	}
	return p, nil
}

// isPiped reports whether f is a pipe, a file or a socket, not a terminal or /dev/null.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && info.Mode()&os.ModeDevice == 0
}

// readStdin reads all of stdin as text.
func readStdin(ctx context.Context, a *cli.App, signals <-chan os.Signal) (string, error) {
	type outcome struct {
		data []byte
		err  error
	}
	read := make(chan outcome, 1)
	// Ends with stdin or the process: a read of a pipe cannot be canceled.
	go func() {
		data, err := io.ReadAll(io.LimitReader(a.In, MaxStdin+1))
		read <- outcome{data, err}
	}()
	notice := time.After(stdinNotice)
	for {
		select {
		case <-notice:
			a.Say("waiting for stdin to end, because it is part of the prompt (to skip it, use </dev/null)")
		case <-signals:
			return "", cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "")
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
		return "", cli.UsageError("pipe text in, or use </dev/null", "read stdin: %w", cli.Cause(err))
	case len(data) > MaxStdin:
		return "", cli.UsageError("save it to a file and name the file in the prompt", "stdin is larger than %d MiB", MaxStdin>>20)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", cli.UsageError("attach files with -f FILE", "stdin is not UTF-8 text")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// attachments returns the parts for attached files.
func attachments(paths []string) (sdk.Parts, error) {
	var parts sdk.Parts
	for _, path := range paths {
		if path == "" { // as from a variable that is not set
			return nil, cli.UsageError("name a file", "-f has no file")
		}
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err != nil {
			return nil, cli.UsageError("check the path", "attach %q: %w", path, cli.Cause(err))
		}
		parts = append(parts, &sdk.FilePart{Filename: filepath.Base(abs), URL: input.FileURL(abs)})
	}
	return parts, nil
}

// readSchema reads the JSON schema of an answer.
func readSchema(path string) (*sdk.OutputFormat, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.UsageError("check the path", "schema %q: %w", path, cli.Cause(err))
	}
	var object map[string]any
	err = json.Unmarshal(data, &object)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other || err == nil && object == nil {
		err = errors.New("it is not an object")
	}
	if err != nil {
		return nil, cli.UsageError("write a JSON schema of type object", "schema %q: %w", path, err)
	}
	if t, ok := object["type"]; ok && t != "object" {
		return nil, cli.UsageError(`give it the type "object"; wrap lists and values in a property`, "schema %q: the type is %v", path, t)
	}
	return &sdk.OutputFormat{Type: sdk.FormatJSONSchema, Schema: data}, nil
}
