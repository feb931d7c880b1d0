package transfer

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// maxIdentifier is the maximum length of an identifier without its prefix, in bytes.
const maxIdentifier = 64

// check looks at what the store and the loop rely on. at is the place of the file in its parent; seen has the
// identifiers of all files.
func (f *File) check(at string, seen map[string]bool) error {
	if f == nil || f.Info == nil {
		return fmt.Errorf("%sinfo is missing: pass a file that tenon session export or opencode export wrote", at)
	}
	if err := fresh(f.Info.ID, sdk.PrefixSession, seen); err != nil {
		return fmt.Errorf("%sinfo.id: %w", at, err)
	}
	for i := range f.Messages {
		if err := f.checkMessage(&f.Messages[i], seen); err != nil {
			return fmt.Errorf("%smessages[%d].%w", at, i, err)
		}
	}
	for i, child := range f.Children {
		place := fmt.Sprintf("%schildren[%d].", at, i)
		if err := child.check(place, seen); err != nil {
			return err
		}
		if child.Info.ParentID != f.Info.ID {
			return fmt.Errorf("%sinfo.parentID: %q is not the session above it", place, child.Info.ParentID)
		}
	}
	return nil
}

func (f *File) checkMessage(m *sdk.MessageWithParts, seen map[string]bool) error {
	head := m.Info.Head()
	if err := fresh(head.ID, sdk.PrefixMessage, seen); err != nil {
		return fmt.Errorf("info.id: %w", err)
	}
	if head.SessionID != f.Info.ID {
		return fmt.Errorf("info.sessionID: %q is not the session of the file", head.SessionID)
	}
	for i, p := range m.Parts {
		h := p.Head()
		if err := fresh(h.ID, sdk.PrefixPart, seen); err != nil {
			return fmt.Errorf("parts[%d].id: %w", i, err)
		}
		if h.SessionID != f.Info.ID || h.MessageID != head.ID {
			return fmt.Errorf("parts[%d]: sessionID %q and messageID %q do not match its message", i, h.SessionID, h.MessageID)
		}
	}
	return nil
}

// fresh refuses an identifier of another form, and one that was there before.
func fresh(id, prefix string, seen map[string]bool) error {
	if rest, ok := strings.CutPrefix(id, prefix+"_"); !ok || len(rest) > maxIdentifier || !plain(rest) {
		return fmt.Errorf("invalid identifier %.80q: want %s_ and letters or digits", id, prefix)
	}
	if seen[id] {
		return fmt.Errorf("duplicate identifier %q", id)
	}
	seen[id] = true
	return nil
}

// plain reports whether a text can be used in file names, on terminals and in other texts.
func plain(s string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && !letter(r) && (r < '0' || r > '9') }
	return s != "" && !strings.ContainsFunc(s, odd)
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
