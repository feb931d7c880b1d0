package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxSessions bounds the history. Sessions that are dropped are rebuilt from their messages.
	maxSessions = 256
	// maxHashed is the maximum size of a file that is identified by its content; larger ones are identified by size and time.
	maxHashed = 10 << 20
)

// Keys of the metadata that rebuild reads.
const (
	metaPath   = "filepath" // the file of a single hash
	metaHash   = "hash"
	metaHashes = "hashes" // of several files, by path
	// metaAttached is the path of a file in the prompt, next to metaHash.
	metaAttached = "path"
)

// errNotSeen is wrapped by errors about changes to content that the model has not seen.
var errNotSeen = errors.New("the current content was not read")

// history records the file contents that the model has seen, per session.
type history struct {
	mu       sync.Mutex
	sessions map[string]*session
}

type session struct {
	mu    sync.Mutex
	files map[string]seen // by real path
}

// seen is the content of a file that the model saw last.
type seen struct {
	hash    string
	message string // the ID of the message with the call or the attachment: IDs ascend
	read    bool   // by read: the model sees the content after the message
}

func newHistory() *history { return &history{sessions: map[string]*session{}} }

// note records that the model has read or written the content of the file at real.
func (h *history) note(call *sdk.ToolCall, real, hash string) {
	s := h.session(call.SessionID)
	defer s.mu.Unlock()
	keep(s.files, real, seen{hash, call.MessageID, call.Tool == "read"})
}

// keep adds a content. The model has seen it from the first message that shows it.
func keep(files map[string]seen, real string, f seen) {
	if files[real].hash != f.hash {
		files[real] = f
	}
}

// has reports whether the model has read or written the file at real since the session was opened.
func (h *history) has(sessionID, real string) bool {
	s := h.session(sessionID)
	defer s.mu.Unlock()
	return s.files[real].hash != ""
}

// check returns an error that wraps errNotSeen and contains the remedy, unless the model has seen the content of the file t with
// the hash in this session. If blind is set, the call does not quote the content; then a read in the same answer of the model is not enough.
func (h *history) check(ctx context.Context, call *sdk.ToolCall, t target, hash string, blind bool) error {
	s := h.session(call.SessionID)
	defer s.mu.Unlock()
	early := func() bool { return blind && s.files[t.real].read && s.files[t.real].message == call.MessageID }
	byModel := false
	if s.files[t.real].hash != hash || early() {
		var err error
		if byModel, err = s.rebuild(ctx, call); err != nil {
			return err
		}
	}
	switch f := s.files[t.real]; {
	case f.hash == hash && byModel && early():
		return fmt.Errorf("%w: the result of read for %q comes after this answer; look at it, then change the file", errNotSeen, t.name)
	case f.hash == hash:
		return nil
	case f.hash == "":
		return fmt.Errorf("%w: %q exists; read it first, then change it", errNotSeen, t.name)
	}
	return fmt.Errorf("%w: %q changed on disk since it was read; read it again, then change it", errNotSeen, t.name)
}

// session returns the session with the ID, locked, and creates it if necessary.
func (h *history) session(id string) *session {
	h.mu.Lock()
	s := h.sessions[id]
	if s == nil {
		if len(h.sessions) == maxSessions {
			clear(h.sessions)
		}
		s = &session{files: map[string]seen{}}
		h.sessions[id] = s
	}
	h.mu.Unlock()
	s.mu.Lock()
	return s
}

// rebuild adds the files in the metadata of the session's tool calls and those that the user attached, unless they are newer here: a call may not
// have ended yet. It removes those of undone messages, but not those of messages before the first: a compaction may have left them out. A host
// without messages has neither. It reports whether the model made the call: a plugin's call is in no message. s.mu must be held.
func (s *session) rebuild(ctx context.Context, call *sdk.ToolCall) (byModel bool, err error) {
	reader, ok := call.Host.(sdk.MessageReader)
	if !ok {
		return false, nil
	}
	messages, err := reader.Messages(ctx)
	if err != nil {
		return false, fmt.Errorf("messages of the session: %w", err)
	}
	files, exists := map[string]seen{}, map[string]bool{call.MessageID: true}
	for _, m := range messages {
		exists[m.Info.Head().ID] = true
		for _, part := range m.Parts {
			f := seen{message: m.Info.Head().ID}
			add := func(path, hash string) {
				f.hash = hash
				keep(files, path, f)
			}
			switch p := part.(type) {
			case *sdk.ToolPart:
				f.read, byModel = p.Tool == "read", byModel || p.CallID == call.CallID
				if p.State.Status == sdk.ToolCompleted {
					recorded(p, add)
				}
			case *sdk.TextPart:
				record(p.Metadata[metaAttached], p.Metadata[metaHash], add)
			}
		}
	}
	maps.DeleteFunc(s.files, func(_ string, f seen) bool {
		return len(messages) > 0 && f.message >= messages[0].Info.Head().ID && !exists[f.message]
	})
	for path, newest := range files {
		if f := s.files[path]; newest.message > f.message || newest.hash == f.hash {
			s.files[path] = newest
		}
	}
	return byModel, nil
}

// recorded calls add with the files in the metadata of a tool call.
func recorded(p *sdk.ToolPart, add func(path, hash string)) {
	switch p.Tool {
	case "read", "write", "edit":
		record(p.State.Metadata[metaPath], p.State.Metadata[metaHash], add)
	case "apply_patch":
		hashes, _ := p.State.Metadata[metaHashes].(map[string]any)
		for path, hash := range hashes {
			record(path, hash, add)
		}
	}
}

func record(path, hash any, add func(path, hash string)) {
	p, isPath := path.(string)
	if h, isHash := hash.(string); isPath && isHash && p != "" && h != "" {
		add(paths.Real(p), h)
	}
}

// contentHash identifies content.
func contentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// statHash identifies the content of a file that is too large to hash.
func statHash(info fs.FileInfo) string {
	return fmt.Sprintf("stat:%d:%d", info.Size(), info.ModTime().UnixNano())
}
