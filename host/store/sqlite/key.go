package sqlite

import (
	"errors"
	"fmt"
)

// Sessions are numbered, and so are the messages of a session and the parts of a message, in the order in which they were first put. The key
// of a row concatenates these numbers:
//
//	message  session(23 bits) message(22)
//	part     session(23 bits) message(22) part(18)
//	stamp    session(23 bits) seq(40)              the last change of the row
//	entry    session(23 bits) number(40)           of the ledger
//
// The resulting limits of 8 million sessions, 4 million messages per session and 262,144 parts per message are far above what conversations
// with a model reach.
const (
	messageBits = 22
	partBits    = 18
	seqBits     = 40
)

var errKeys = errors.New("too many")

// span is a range of keys, including both ends. The number zero is never used, so low is never a key and means "before the first".
type span struct{ low, high int64 }

func messagesOf(session int64) span { return below(session, messageBits) }
func partsOf(message int64) span    { return below(message, partBits) }
func stampsOf(session int64) span   { return below(session, seqBits) }

func partsOfSession(session int64) span { return below(session, messageBits+partBits) }

func messageOf(part int64) int64 { return part >> partBits }

func seqOf(stamp int64) uint64 { return uint64(stamp & (1<<seqBits - 1)) }

func below(key int64, bits uint) span {
	return span{key << bits, (key+1)<<bits - 1}
}

// has reports whether the key is in the span.
func (s span) has(key int64) bool { return s.low <= key && key <= s.high }

// after returns the key after last, the greatest key that is used in the span, or zero for none.
func (s span) after(last int64, what string) (int64, error) {
	next := max(last, s.low) + 1
	if !s.has(next) {
		return 0, fmt.Errorf("%w %s: %d", errKeys, what, s.high-s.low)
	}
	return next, nil
}
