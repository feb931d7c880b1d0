package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
)

// Decoder turns the events of one protocol into an answer.
type Decoder interface {
	// Event handles the data of one event and must not keep it; kind is the name of the event, if it has one. It returns done if no further event belongs to the
	// answer.
	Event(kind string, data []byte) (done bool)
	// Whole handles an answer that is one JSON document.
	Whole(data []byte)
	// Complete reports whether the model has reported that it finished.
	Complete() bool
	// Finish ends the answer.
	Finish()
	// Err returns the first error of the answer; see Answer.Fail.
	Err() error
}

// Kinds of broken answers.
var (
	ErrCut       = errors.New("the answer broke off")
	ErrMalformed = errors.New("the server sent a malformed answer")
	errModel     = errors.New("the server ended the answer with an error, such as a malformed tool call")
	errHTML      = errors.New("the server sent a web page instead of an answer")
)

// Unmarshal decodes a part of an answer. The error quotes it.
func Unmarshal(data []byte, into any) error {
	if err := value.Decode(data, into); err != nil {
		return fmt.Errorf("%w: %q: %w", ErrMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	return nil
}

// consume reads the answer, a stream or one document, into the decoder.
func consume(ex *exchange, frames func(io.Reader) Frames, dec Decoder) error {
	in := bufio.NewReader(ex)
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the body is empty", ErrCut)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCut, err)
	case isPage([]byte{first}):
		return errHTML
	case first == '{' || first == '[':
		return document(in, dec)
	}
	if err := stream(ex, frames(in), dec); err != nil {
		return err
	}
	if dec.Finish(); dec.Err() == nil {
		ex.drain()
	}
	return dec.Err()
}

// isPage reports whether an answer is a web page, or XML, instead of JSON or events.
func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(body, blank), []byte("<")) }

// blank are the characters before an answer that are ignored: white space and a byte order mark.
const blank = " \t\r\n\ufeff"

// firstByte skips blank characters and returns the byte after them, which stays unread.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(blank, b) < 0 {
			return b, in.UnreadByte()
		}
	}
}

// document reads an answer of a server that ignored the request for a stream.
func document(in io.Reader, dec Decoder) error {
	data, err := readDocument(in, maxElements)
	if err != nil {
		return err
	}
	if dec.Whole(data); dec.Err() == nil {
		dec.Finish()
	}
	return dec.Err()
}

// readDocument reads a document of at most about maxValues values. The exchange limits its size.
func readDocument(in io.Reader, maxValues int) ([]byte, error) {
	data, err := io.ReadAll(in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCut, err)
	case value.Crowded(data, maxValues):
		return nil, errElements
	}
	return data, nil
}

// Frames returns the kind and the data of the next event of a stream, and io.EOF at the end. The data is valid until the next call.
type Frames func() (kind string, data []byte, err error)

// newEvents reads server-sent events.
func newEvents(in io.Reader) Frames {
	// The added blank line completes a last event without one.
	events := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(io.MultiReader(in, strings.NewReader("\n\n")))})
	return func() (kind string, data []byte, err error) {
		if !events.Next() {
			return "", nil, cmp.Or(events.Err(), io.EOF)
		}
		e := events.Event()
		return e.Type, e.Data, nil
	}
}

// stream passes the events to the decoder.
func stream(ex *exchange, next Frames, dec Decoder) error {
	complete := false
	var cut halves
	for {
		kind, data, err := next()
		switch {
		case errors.As(err, new(*Refusal)):
			return err
		case err != nil && complete: // the rest is not needed
			return nil
		case errors.Is(err, io.EOF):
			return ErrCut
		case err != nil:
			return fmt.Errorf("%w: %w", ErrCut, err)
		}
		if data = bytes.TrimSpace(data); len(data) == 0 {
			continue // like a comment
		}
		if complete && string(data) == "[DONE]" { // gateways end the answers of every format like this
			return nil
		}
		if ex.event(); ex.events > maxEvents {
			return errEvents
		}
		if value.Crowded(data, maxElements) {
			return errElements
		}
		if kind == "error" { // means an error in every format; its data may be only a text
			return &Refusal{Body: data}
		}
		if done := dec.Event(kind, cut.join(data)); done || dec.Err() != nil {
			return dec.Err()
		}
		if !complete && dec.Complete() {
			complete = true
			ex.linger()
		}
	}
}

// The escape sequences of the surrogate halves of a character beyond U+FFFF, see RFC 8259, section 7: a first half that ends a JSON string, and
// a second half that begins one. An unescaped backslash before them would change their meaning.
var (
	firstHalf  = lazyregexp.New(`(?:^|[^\\])(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})"`)
	secondHalf = lazyregexp.New(`(?:^|[^\\])(?:\\\\)*"(\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
)

// halves joins a character whose halves are in two events: servers in languages with UTF-16 strings may cut texts there. Decoded alone,
// each half would become U+FFFD. A first half without a second one is dropped.
type halves struct {
	first []byte // the half that waits for its second one
}

// join moves a half at the end of a string to the second half at the beginning of a string in a later event. It does not change data.
func (h *halves) join(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	if h.first != nil {
		if at := secondHalf().FindSubmatchIndex(data); at != nil {
			data = bytes.Join([][]byte{data[:at[2]], h.first, data[at[2]:]}, nil)
			h.first = nil
		}
	}
	if at := firstHalf().FindSubmatchIndex(data); at != nil {
		h.first = bytes.Clone(data[at[2]:at[3]])
		data = bytes.Join([][]byte{data[:at[2]], data[at[3]:]}, nil)
	}
	return data
}
