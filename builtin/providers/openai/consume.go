package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/tenonhq/tenon/internal/visible"
)

// decoder turns the events of one protocol into an answer.
type decoder interface {
	// event handles the data of one event and must not keep it. It returns done if no further event belongs to the
	// answer.
	event(data []byte) (done bool, err error)
	// whole handles an answer that is one JSON document.
	whole(data []byte) error
	// complete reports whether the model has reported that it finished.
	complete() bool
	// finish ends the answer.
	finish() error
}

// Kinds of broken answers.
var (
	errCut       = errors.New("the answer broke off")
	errMalformed = errors.New("the server sent a malformed answer")
	errHTML      = errors.New("the server sent a web page instead of an answer")
)

// unmarshal decodes a part of an answer. The error quotes it.
func unmarshal(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	return nil
}

// unmarshalDocument decodes an answer that is one JSON document, which may be an error in place of an answer.
func unmarshalDocument(data []byte, into any) error {
	err := unmarshal(data, into)
	if err != nil && json.Valid(data) && readError(data).message != "" {
		return &refusal{body: data}
	}
	return err
}

// consume reads the answer, be it a stream or one document, into the decoder.
func consume(ex *exchange, dec decoder) error {
	in := bufio.NewReaderSize(ex, 16<<10)
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the body is empty", errCut)
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	case first == '<':
		return errHTML
	case first == '{' || first == '[':
		return document(in, dec)
	}
	if err := stream(ex, in, dec); err != nil {
		return err
	}
	if err := dec.finish(); err != nil {
		return err
	}
	ex.drain()
	return nil
}

// firstByte skips white space and a byte order mark and returns the byte behind it, which stays unread.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return b, in.UnreadByte()
		}
	}
}

// document reads an answer of a server that ignored the request for a stream.
func document(in io.Reader, dec decoder) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	if tooMany(data, maxElements) {
		return errElements
	}
	if err := dec.whole(data); err != nil {
		return err
	}
	return dec.finish()
}

// tooMany reports whether a JSON document has more than max values. It counts commas and brackets outside strings.
func tooMany(data []byte, max int) bool {
	if len(data) <= max {
		return false
	}
	n, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n > max
}

func stream(ex *exchange, in io.Reader, dec decoder) error {
	// The added blank line completes a last event that the server did not end with one.
	body := io.NopCloser(io.MultiReader(in, strings.NewReader("\n\n")))
	frames := ssestream.NewDecoder(&http.Response{Body: body})
	complete := false
	for frames.Next() {
		ex.event()
		data := bytes.TrimSpace(frames.Event().Data)
		if len(data) == 0 {
			continue
		}
		if tooMany(data, maxElements) {
			return errElements
		}
		done, err := dec.event(data)
		if done || err != nil {
			return err
		}
		if !complete && dec.complete() {
			complete = true
			ex.linger()
		}
	}
	switch err := frames.Err(); {
	case complete: // the rest can be lost without harm
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return errCut
}
