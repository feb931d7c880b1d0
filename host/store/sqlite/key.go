package sqlite

import (
	"errors"
	"fmt"
)

// A session has a number; its messages are numbered in the order they were put, and so are the parts of
// each message. The key of a row puts these numbers behind each other:
//
//	message  session(23 bits) message(22)
//	part     session(23 bits) message(22) part(18)
//	stamp    session(23 bits) seq(40)              when the row changed last
//	entry    session(23 bits) number(40)           of the ledger
//
// The limits that follow, 8 million sessions, 4 million messages a session and 262,144 parts a message,
// are far above what a conversation with a model can reach.
const (
	messageBits = 22
	partBits    = 18
	seqBits     = 40
)

var errKeys = errors.New("too many")

// span is a range of keys, both ends included. A place of number zero is never used, so low is always
// free and means "before the first".
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

// after returns the key behind last, the greatest one used in the span, or zero for none.
func (s span) after(last int64, what string) (int64, error) {
	next := max(last, s.low) + 1
	if next > s.high {
		return 0, fmt.Errorf("%w %s: %d", errKeys, what, s.high-s.low)
	}
	return next, nil
}
