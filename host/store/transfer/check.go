package transfer

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// maxIdentifier is the maximum length of an identifier without its prefix, in bytes.
const maxIdentifier = 64

// identifierCharacters may occur in identifiers: they are used in file names, on terminals and in other texts.
const identifierCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

// check checks the identifiers and references that the store and the loop rely on. at is the key of the file in its parent; seen holds the
// identifiers of all files so far.
func (f *File) check(at string, seen map[string]bool) error {
	if f.Info == nil {
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
			return fmt.Errorf("%sinfo.parentID: %q is not the parent session", place, child.Info.ParentID)
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

// fresh returns an error if the identifier is malformed or was seen before.
func fresh(id, prefix string, seen map[string]bool) error {
	if rest, ok := strings.CutPrefix(id, prefix+"_"); !ok || rest == "" || len(rest) > maxIdentifier || strings.Trim(rest, identifierCharacters) != "" {
		return fmt.Errorf("invalid identifier %.80q: want %s_ and letters or digits", id, prefix)
	}
	if seen[id] {
		return fmt.Errorf("duplicate identifier %q", id)
	}
	seen[id] = true
	return nil
}
