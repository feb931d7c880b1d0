package files

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// commit applies changes. Everything likely to fail (no space, no permission) happens before the first file changes. If a later step fails, the
// error names the files that have changed; each file has its old or its new content.
func commit(call *sdk.ToolCall, changes []*change) error {
	var staged []*staged
	for _, c := range changes {
		if c.remove {
			continue
		}
		s, err := c.stage()
		if err != nil {
			return errors.Join(err, discard(staged))
		}
		staged = append(staged, s)
	}
	var done []string
	for i, s := range staged {
		if err := s.commit(); err != nil {
			return errors.Join(partial(call, err, done), discard(staged[i+1:]))
		}
		done = append(done, s.path)
	}
	for _, c := range changes { // last, so that the content of a moved file always has a name
		if !c.remove {
			continue
		}
		if err := c.delete(changes); err != nil {
			return partial(call, explain(c.abs, err), done)
		}
		done = append(done, c.abs)
	}
	return nil
}

// partial adds the files that have changed to the error of another one.
func partial(call *sdk.ToolCall, err error, done []string) error {
	if len(done) == 0 {
		return err
	}
	names := make([]string, len(done))
	for i, path := range done {
		names[i] = paths.Display(call, path)
	}
	return fmt.Errorf("%w; changed before: %s", err, strings.Join(names, ", "))
}

// delete deletes the file, or the link, unless its name became that of a new file: they may differ only in case.
func (c *change) delete(changes []*change) error {
	dir, name, err := projectfs.Parent(c.trusted, c.itself)
	if err != nil {
		return err
	}
	defer dir.Close() // a deletion is complete without it
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	for _, other := range changes {
		if other.written != nil && os.SameFile(info, other.written) {
			return nil
		}
	}
	return dir.Remove(name)
}
