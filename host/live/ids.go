package live

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// IDs makes identifiers in opencode's format: prefix, underscore, 12 hex digits of time and counter, 14 random base-62 digits. Identifiers of
// one IDs value sort in the order of their creation (sessions: in reverse order), even if the clock steps back. The zero value is ready
// to use. It may be used concurrently.
type IDs struct {
	mu   sync.Mutex
	last uint64 // the last value of unixMillis*4096+counter
}

// New returns a new identifier. Identifiers of sessions descend, so that a listing by identifier shows the newest first; all others ascend.
func (g *IDs) New(prefix string) string {
	n := g.next(uint64(time.Now().UnixMilli()))
	if prefix == sdk.PrefixSession {
		n = ^n
	}
	out := fmt.Appendf(nil, "%s_%012x", prefix, n&(1<<48-1))
	var random [14]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	for _, b := range random {
		out = append(out, base62[b%62])
	}
	return string(out)
}

// Follow makes later identifiers sort after id, which may come from a process whose clock was ahead. It ignores
// identifiers in another format. Times wrap around every 795 days: a time less than half of that behind now
// counts as past.
func (g *IDs) Follow(id string) {
	const digits, bits = 12, 48
	_, text, _ := strings.Cut(id, "_")
	stamp, err := strconv.ParseUint(text[:min(digits, len(text))], 16, bits)
	if err != nil || len(text) < digits {
		return
	}
	now := uint64(time.Now().UnixMilli()) * 4096
	if ahead := (stamp - now) % (1 << bits); ahead < 1<<(bits-1) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.last = max(g.last, now+ahead)
	}
}

func (g *IDs) next(millis uint64) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := millis*4096 + 1 // the counter starts at 1 in each millisecond
	if n <= g.last {
		n = g.last + 1
	}
	g.last = n
	return n
}

// Moment returns an identifier without its prefix, which is the time of its creation.
func Moment(id string) string {
	_, text, _ := strings.Cut(id, "_")
	return text
}
