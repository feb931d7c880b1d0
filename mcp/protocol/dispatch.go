package protocol

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// receive handles one line of the server.
func (t *stdio) receive(line []byte) {
	if len(line) == 0 {
		return
	}
	messages, err := decodeMessages(line)
	if err != nil {
		t.log.Print("output that is not a message", line)
		return
	}
	t.received.Add(int64(len(messages)))
	for i := range messages {
		m := &messages[i]
		switch {
		case m.isAnswer():
			if !t.waiting.pass(m) {
				t.log.Print("unexpected answer", line)
			}
		case m.isNotification():
			if !t.peer.notify(m) {
				t.log.Print("a notification that cannot be read", line)
			}
		default:
			t.requested(m)
		}
	}
}

// requested answers a request of the server on its own goroutine.
func (t *stdio) requested(m *message) {
	select {
	case t.incoming <- struct{}{}:
	default:
		t.reply(refusing(m, mcp.INTERNAL_ERROR, "too many requests at the same time"))
		return
	}
	t.running.Go(func() { // ends with life at the latest
		defer func() { <-t.incoming }()
		t.reply(t.peer.respond(t.life, m))
	})
}

func (t *stdio) reply(r *response) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	select {
	case t.out <- &outgoing{line: append(line, '\n')}:
	case <-t.life.Done():
	}
}
