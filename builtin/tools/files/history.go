package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxSessions and maxFiles bound the history. A dropped session is rebuilt from its
	// messages; a dropped file must be read again.
	maxSessions = 64
	maxFiles    = 4096
	// maxHashed is the maximum size of a file that is identified by its content; larger ones are identified by size and time.
	maxHashed = 10 << 20
)

// Keys of the metadata that rebuild reads.
const (
	metaPath   = "filepath" // the file of a single hash
	metaHash   = "hash"
	metaHashes = "hashes" // of several files, by path
)

// errNotSeen is wrapped by errors about changes to content that the model has not seen.
var errNotSeen = errors.New("the current content was not read")

// seen is the hash of file content that the model has seen.
type seen struct {
	hash string
	at   time.Time
}

// history records the file contents that the model has seen, per session.
type history struct {
	mu       sync.Mutex
	sessions map[string]*session
	clock    int // number of uses, to find the least recently used session
}

type session struct {
	used int // guarded by history.mu

	mu      sync.Mutex
	files   map[string]seen // by real path
	rebuilt bool            // the messages have been read
}

func newHistory() *history { return &history{sessions: map[string]*session{}} }

// note records that the model has read or written the content of the file at real.
func (h *history) note(sessionID, real, hash string) {
	s := h.session(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(real, seen{hash, time.Now()})
}

// has reports whether the model has read or written the file at real since the session was opened.
func (h *history) has(sessionID, real string) bool {
	s := h.session(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[real]
	return ok
}

// drop removes the file at real, which was deleted.
func (h *history) drop(sessionID, real string) {
	s := h.session(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, real)
}

// check returns an error that wraps errNotSeen and contains the remedy, unless the model has seen the content of the file t with
// the hash in this session.
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

// session returns the session with the ID and creates it if necessary.
func (h *history) session(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	s := h.sessions[id]
	if s == nil {
		if len(h.sessions) >= maxSessions {
			delete(h.sessions, slices.MinFunc(slices.Collect(maps.Keys(h.sessions)), func(a, b string) int {
				return cmp.Compare(h.sessions[a].used, h.sessions[b].used)
			}))
		}
		s = &session{files: map[string]seen{}}
		h.sessions[id] = s
	}
	s.used = h.clock
	return s
}

// put records a file and drops the oldest one if there are too many. s.mu must be held.
func (s *session) put(real string, now seen) {
	if _, ok := s.files[real]; !ok && len(s.files) >= maxFiles {
		delete(s.files, slices.MinFunc(slices.Collect(maps.Keys(s.files)), func(a, b string) int {
			return s.files[a].at.Compare(s.files[b].at)
		}))
	}
	s.files[real] = now
}

// rebuild adds the files in the metadata of the session's tool calls, unless they are newer here. A host without
// messages has no earlier calls. s.mu must be held.
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

// recorded adds the files in the metadata of a tool call.
func recorded(p *sdk.ToolPart, files map[string]seen) {
	at := time.UnixMilli(p.State.Time.End)
	add := func(path, hash any) {
		p, isPath := path.(string)
		if h, isHash := hash.(string); isPath && isHash && p != "" {
			files[paths.Real(p)] = seen{h, at}
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

// contentHash identifies content.
func contentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// statHash identifies the content of a file that is too large to hash.
func statHash(info fs.FileInfo) string {
	return fmt.Sprintf("stat:%d:%d", info.Size(), info.ModTime().UnixNano())
}
