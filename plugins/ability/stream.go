package ability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	// maxStreamBytes is the maximum size of a streamed answer. A model's answer of 16 MiB takes about three times as much as events.
	maxStreamBytes = 64 << 20
	// maxChunk is the maximum size of one piece.
	maxChunk = 64 << 10
)

// httpStream is an answer that a plugin reads in pieces. It ends with the call during which the plugin sent the request.
type httpStream struct {
	call context.Context // the call that it belongs to
	end  func()          // ends the request and releases its slot; may be called twice

	mu   sync.Mutex // held while reading
	body io.Reader
	left int // remaining bytes of the limit
}

// streams are the open streams of a plugin by number.
type streams struct {
	mu   sync.Mutex
	next int64
	open map[int64]*httpStream
}

// add keeps a stream until it ends or its call does, and returns its number, which is never 0.
func (s *streams) add(one *httpStream) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[int64]*httpStream{}
	}
	s.next++
	id := s.next
	s.open[id] = one
	context.AfterFunc(one.call, func() { s.close(id) })
	return id
}

// find returns a stream of the call.
func (s *streams) find(c Caller, id int64) (*httpStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[id]
	if one == nil || one.call != c.Call {
		return nil, fmt.Errorf("stream %d not found: it ended, or belongs to another call", id)
	}
	return one, nil
}

// close ends a stream, unless it has ended.
func (s *streams) close(id int64) {
	s.mu.Lock()
	one := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if one != nil {
		one.end()
	}
}

// readStream returns the next piece of a streamed answer.
func (b *Broker) readStream(_ context.Context, c Caller, req guest.StreamRef) (out guest.StreamChunk, err error) {
	s, err := b.streams.find(c, req.Stream)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	piece := make([]byte, maxChunk)
	n, err := s.body.Read(piece)
	out.Data = piece[:n]
	if s.left -= n; s.left < 0 {
		err = limited("the answer has more than %d MiB", maxStreamBytes>>20)
	}
	switch {
	case errors.Is(err, io.EOF):
		out.End, err = true, nil
		b.streams.close(req.Stream)
	case err != nil:
		b.streams.close(req.Stream)
	}
	return out, err
}

// closeStream ends a stream early.
func (b *Broker) closeStream(_ context.Context, c Caller, req guest.StreamRef) (empty, error) {
	if _, err := b.streams.find(c, req.Stream); err == nil {
		b.streams.close(req.Stream)
	}
	return empty{}, nil
}
