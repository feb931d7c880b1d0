package mcp

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

const (
	// reconnectDelay is the wait before a stream that ended is asked for again, unless the server names another one.
	reconnectDelay = time.Second
	// minReconnectDelay and maxReconnectDelay bound what a server may name.
	minReconnectDelay = 100 * time.Millisecond
	maxReconnectDelay = 30 * time.Second
)

// eventReader reads a stream of events, see https://html.spec.whatwg.org/multipage/server-sent-events.html ("Parsing an event stream").
// Each event is bounded by maxMessageBytes.
type eventReader struct {
	lines  *lineReader
	lastID string        // of the last whole event that had one: where the stream can go on
	delay  time.Duration // the wait that the server asks for, or reconnectDelay
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{lines: newLineReader(in, maxMessageBytes), delay: reconnectDelay}
}

// resume makes the reader go on with another stream.
func (r *eventReader) resume(in io.Reader) { r.lines = newLineReader(in, maxMessageBytes) }

// next returns the kind and the data of the next event that has data; the kind is "message" when the event names none. At the end of the
// stream an event that was not ended counts. Errors: io.EOF at the end, errTooLong, those of the stream.
func (r *eventReader) next() (kind string, data []byte, err error) {
	kind, id, hasID := "message", "", false
	for {
		line, err := r.lines.next()
		if errors.Is(err, io.EOF) && len(data) > 0 {
			return kind, data[1:], nil
		}
		if err != nil {
			return "", nil, err
		}
		if len(line) == 0 {
			if hasID {
				r.lastID, hasID = id, false
			}
			if len(data) > 0 {
				return kind, data[1:], nil
			}
			kind = "message"
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = string(value)
		case "data":
			if data = append(append(data, '\n'), value...); len(data) > maxMessageBytes {
				return "", nil, errTooLong
			}
		case "id":
			if !bytes.ContainsRune(value, 0) {
				id, hasID = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.delay = min(max(time.Duration(ms)*time.Millisecond, minReconnectDelay), maxReconnectDelay)
			}
		}
	}
}
