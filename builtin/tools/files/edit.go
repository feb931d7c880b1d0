package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/linediff"
)

// maxPlaces is the maximum number of places that an edit replaces. Each takes 48 bytes of memory.
const maxPlaces = 1 << 20

// minRepeated is the length from which newString in a file suggests that the edit was made before.
const minRepeated = 6

// edit replaces a text in a file, or creates a file.
func (s *planning) edit(ctx context.Context, c *change, in operation) error {
	switch {
	case in.OldString == in.NewString:
		return errors.New("oldString and newString are equal: nothing to change")
	case in.OldString == "" && c.remove:
		c.create(in.NewString)
		return nil
	case in.OldString == "":
		return fmt.Errorf("%q exists and oldString is empty; give the text to replace, or use write to replace all of it", c.name)
	}
	err := s.mayChange(ctx, c)
	doc := newDocument(c.before)
	if at := strings.Index(doc.text, toLF(in.OldString)); errors.Is(err, errNotSeen) && at >= 0 && s.history.has(s.call.SessionID, c.real) {
		return fmt.Errorf("%w; oldString is at line %d now, so a few lines there are enough", err, lineOf(doc.text, at))
	}
	if err != nil {
		return err
	}
	f, err := locate(c.name, doc.text, toLF(in.OldString), in.ReplaceAll)
	if at := strings.Index(doc.text, toLF(in.NewString)); errors.Is(err, errNoMatch) && at >= 0 && len(strings.TrimSpace(in.NewString)) >= minRepeated {
		return fmt.Errorf("%w\nnewString is already at line %d; this edit may have been made before", err, lineOf(doc.text, at))
	}
	if err != nil {
		return err
	}
	n := len(f.spans)
	if n > maxPlaces {
		return fmt.Errorf("oldString is in %q %d times, more than %d; use a program such as sed", c.name, n, maxPlaces)
	}
	if n > 1 && len(doc.raw)+n*(len(in.NewString)-len(in.OldString)) > maxHashed {
		return fmt.Errorf("replacing %d places makes %q larger than %d MB; use a program such as sed", n, c.name, maxHashed>>20)
	}
	replacements := make([]replacement, n)
	for i, s := range f.spans {
		replacements[i] = replacement{s, in.NewString}
	}
	c.after = doc.apply(replacements)
	line := lineOf(doc.text, f.spans[0].start)
	if bytes.Equal(c.before, c.after) {
		return fmt.Errorf("%q already has newString at line %d (matched %s): nothing to change", c.name, line, f.how)
	}
	c.report = fmt.Sprintf("Edit applied to %s at line %d.", c.name, line)
	if n > 1 {
		c.report = fmt.Sprintf("Edit applied to %s in %d places, from line %d.", c.name, n, line)
	}
	if f.how != "" {
		after := splitLines(newDocument(c.after).text).lines
		c.report += fmt.Sprintf(" oldString was matched %s, and newString was not adapted. Check the result:%s", f.how,
			numbered(after, line, max(linediff.Count(in.NewString), 1)))
	}
	return nil
}
