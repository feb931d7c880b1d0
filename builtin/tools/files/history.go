package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxSessions and maxFiles bound what is remembered. A session that was forgotten is rebuilt from its
	// messages; a file that was forgotten has to be read again.
	maxSessions = 64
	maxFiles    = 4096
	// maxHashed is the size up to which a file is known by its content; a larger one by size and time.
	maxHashed = 10 << 20
)

// Keys of the metadata from which the history of a session is rebuilt.
const (
	metaPath   = "filepath" // the file of a single hash
	metaHash   = "hash"
	metaHashes = "hashes" // of several files, by path
)

// errNotSeen is wrapped by the errors about a change to content that the model has not seen.
var errNotSeen = errors.New("the current content was not read")

// seen is the content of a file that the model got to see, by its hash.
type seen struct {
	hash string
	at   time.Time
}

// history remembers which content of which file the model has seen, in every session by itself.
type history struct {
	mu       sync.Mutex
	sessions map[string]*session
	clock    int // counts uses, to find the session unused for longest
}

type session struct {
	used int // guarded by history.mu

	mu      sync.Mutex
	files   map[string]seen // by real path
	rebuilt bool            // the messages were looked through
}

func newHistory() *history { return &history{sessions: map[string]*session{}} }

// note records that the model has seen the content of the file at real, by reading or by writing it.
func (h *history) note(sessionID, real, hash string) {
	s := h.session(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(real, seen{hash, time.Now()})
}

// drop forgets the file at real, which was deleted.
func (h *history) drop(sessionID, real string) {
	s := h.session(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, real)
}

// check returns an error that wraps errNotSeen and says what to do, unless the model has seen the content
// with the hash of the file t in this session.
func (h *history) check(ctx context.Context, call *sdk.ToolCall, t target, hash string) error {
	s := h.session(call.SessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.files[t.real]
	if !ok && !s.rebuilt {
		if err := s.rebuild(ctx, call.Host); err != nil {
			return err
		}
		last, ok = s.files[t.real]
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: %q exists; read it first, then change it", errNotSeen, t.name)
	case last.hash != hash:
		return fmt.Errorf("%w: %q changed on disk since it was read at %s; read it again, then change it",
			errNotSeen, t.name, last.at.Format(time.TimeOnly))
	}
	return nil
}

// session returns the session with the ID and makes room for it.
func (h *history) session(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	s := h.sessions[id]
	if s == nil {
		if len(h.sessions) >= maxSessions {
			oldest := ""
			for other, s := range h.sessions {
				if oldest == "" || s.used < h.sessions[oldest].used {
					oldest = other
				}
			}
			delete(h.sessions, oldest)
		}
		s = &session{files: map[string]seen{}}
		h.sessions[id] = s
	}
	s.used = h.clock
	return s
}

// put records a file and makes room for it. s.mu must be held.
func (s *session) put(real string, now seen) {
	if _, ok := s.files[real]; !ok && len(s.files) >= maxFiles {
		oldest := ""
		for other, last := range s.files {
			if oldest == "" || last.at.Before(s.files[oldest].at) {
				oldest = other
			}
		}
		delete(s.files, oldest)
	}
	s.files[real] = now
}

// rebuild takes what the tool calls of the session recorded, where nothing newer is known. A host that
// keeps no messages has none from before either. s.mu must be held.
func (s *session) rebuild(ctx context.Context, host sdk.ToolHost) error {
	reader, ok := host.(sdk.MessageReader)
	if !ok {
		s.rebuilt = true
		return nil
	}
	messages, err := reader.Messages(ctx)
	if err != nil {
		return fmt.Errorf("messages of the session: %w", err)
	}
	old := map[string]seen{}
	for _, m := range messages {
		for _, part := range m.Parts {
			if p, ok := part.(*sdk.ToolPart); ok && p.State.Status == sdk.ToolCompleted {
				recorded(p, old)
			}
		}
	}
	for real, last := range old {
		if _, ok := s.files[real]; !ok {
			s.put(real, last)
		}
	}
	s.rebuilt = true
	return nil
}

// recorded adds to files what the tool call has recorded.
func recorded(p *sdk.ToolPart, files map[string]seen) {
	at := time.UnixMilli(p.State.Time.End)
	add := func(path, hash any) {
		path1, ok1 := path.(string)
		hash1, ok2 := hash.(string)
		if ok1 && ok2 && path1 != "" {
			files[paths.Real(path1)] = seen{hash1, at}
		}
	}
	switch p.Tool {
	case "read", "write", "edit":
		add(p.State.Metadata[metaPath], p.State.Metadata[metaHash])
	case "apply_patch":
		hashes, _ := p.State.Metadata[metaHashes].(map[string]any)
		for path, hash := range hashes {
			add(path, hash)
		}
	}
}

// contentHash names content.
func contentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// statHash names the content of a file that is too large to be hashed.
func statHash(info fs.FileInfo) string {
	return fmt.Sprintf("stat:%d:%d", info.Size(), info.ModTime().UnixNano())
}
