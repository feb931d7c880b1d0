package manifest

import (
	"fmt"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// ErrNone is returned for a directory without a manifest. It wraps sdk.ErrManifest.
var ErrNone = fmt.Errorf("%w: no manifest of a plugin", sdk.ErrManifest)

// ErrNotBuilt is returned for a package without the files of its runtime: it may be source. It wraps sdk.ErrManifest.
var ErrNotBuilt = fmt.Errorf("%w: not built", sdk.ErrManifest)

// ErrNoEquivalent is returned for another host's plugin without a part that tenon can use. It wraps sdk.ErrManifest.
var ErrNoEquivalent = fmt.Errorf("%w: no part of it has an equivalent in tenon", sdk.ErrManifest)

// report collects the problems of one text.
type report struct {
	checked.Report
	src  checked.Source
	kind error // the error that the problems wrap
}

func newReport(file string) *report {
	return &report{src: checked.Source{Name: file}, kind: sdk.ErrManifest}
}

// object parses the text of an object. It returns nil after it has reported a problem.
func (r *report) object(data []byte) *checked.Node {
	n := r.src.Parse(data, &r.Report)
	if n == nil || !r.checker().Want(n.Place(""), n, checked.Object) {
		return nil
	}
	return n
}

func (r *report) checker() *checked.Checker {
	return &checked.Checker{Source: &r.src, Report: &r.Report, Rules: checked.NoRules{}}
}

// add adds a problem with the value at key.
func (r *report) add(key, remedy, format string, args ...any) {
	r.Add(r.src.Locate(key, fmt.Sprintf(format, args...), remedy))
}

// need adds a problem with the value at key unless ok, which it returns.
func (r *report) need(ok bool, key, remedy, format string, args ...any) bool {
	if !ok {
		r.add(key, remedy, format, args...)
	}
	return ok
}

// bound adds a problem if the value at key has more than limit units.
func (r *report) bound(have, limit int, unit, key, remedy string) bool {
	return r.need(have <= limit, key, remedy, "has %d %s, at most %d are allowed", have, unit, limit)
}

// err returns the problems; they wrap sdk.ErrManifest.
func (r *report) err() error { return r.Err(r.kind) }

// quoted shortens and quotes text from outside for a message.
func quoted(s string) string { return fmt.Sprintf("%q", visible.Cut(s, 80, "…")) }
