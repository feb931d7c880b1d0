package protocol

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

const (
	// reconnectDelay is the default wait before a stream that ended is requested again.
	reconnectDelay = time.Second
	// minReconnectDelay and maxReconnectDelay limit a delay set by the server.
	minReconnectDelay = 100 * time.Millisecond
	maxReconnectDelay = 30 * time.Second
)

// eventReader reads a stream of events, see https://html.spec.whatwg.org/multipage/server-sent-events.html ("Parsing an event stream").
// The maximum size of an event is maxMessageBytes.
type eventReader struct {
	lines  *lineReader
	lastID string        // of the last complete event with an ID, from which the stream can resume
	delay  time.Duration // set by the server, or reconnectDelay
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{lines: newLineReader(in, maxMessageBytes), delay: reconnectDelay}
}

// resume continues with another stream.
func (r *eventReader) resume(in io.Reader) { r.lines = newLineReader(in, maxMessageBytes) }

// next returns the kind and the data of the next event with data; the default kind is "message". At the end of the
// stream it also returns an unterminated event. Errors: io.EOF at the end, errTooLong, those of the stream.
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
