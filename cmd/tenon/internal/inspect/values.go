package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxValues limits the stored values that are compared with the hashes of a session.
	maxValues = 1 << 20
	// shownValue is the maximum length of a shown value, in characters.
	shownValue = 120
	// maxSmall is the largest integer that is recognized by its hash; maxLimit is the largest multiple of 500 and 1024, such as limits of tokens.
	maxSmall, maxLimit = 10_000, 1_000_000
	// maxHundredths is the largest recognized decimal number, in hundredths: temperatures are below 10.
	maxHundredths = 1000
)

// values maps hashes in the ledger to values. It finds the values in stored messages, and among usual numbers and words of parameters.
type values struct {
	wanted map[string]bool
	found  map[string]string
	left   int
	stop   map[string]bool // by hook: whether its onError is stop
}

// reveal makes ExplainRequest show the values that it finds instead of their hashes. Old values replaced by hooks of tool calls, or by hooks with
// onError stop, stay hashes, because the hook may have removed secrets. So do old values of hooks that are not among current, the hooks of
// all plugins.
func reveal(list []Explained, messages []sdk.MessageWithParts, current []hooks.HookInfo) {
	v := &values{wanted: map[string]bool{}, found: map[string]string{}, left: maxValues, stop: map[string]bool{}}
	for i := range list {
		for _, e := range list[i].Entries {
			for _, c := range e.Changes {
				v.wanted[c.Old], v.wanted[c.New] = true, true
			}
		}
		list[i].values = v
	}
	for _, h := range current {
		v.stop[hookKey(h.Point, h.Plugin, h.Hook)] = h.OnError == sdk.OnErrorStop
	}
	if len(v.wanted) == 0 {
		return
	}
	v.parameters()
	for i := range messages {
		for _, p := range messages[i].Parts {
			v.all(p)
		}
	}
}

func hookKey(point sdk.Point, plugin, hook string) string {
	return string(point) + "\x00" + plugin + "\x00" + hook
}

// parameters adds the values that parameters of requests usually have.
func (v *values) parameters() {
	for n := range maxHundredths {
		v.add([]byte(strconv.FormatFloat(float64(n)/100, 'g', -1, 64)))
	}
	for n := range maxSmall {
		v.add(strconv.AppendInt(nil, int64(n), 10))
	}
	for _, step := range []int64{500, 1024} {
		for n := step; n <= maxLimit; n += step {
			v.add(strconv.AppendInt(nil, n, 10))
		}
	}
	for _, word := range strings.Fields("true false null {} [] \"\" \"none\" \"minimal\" \"low\" \"medium\" \"high\" \"max\" \"xhigh\" \"auto\"") {
		v.add([]byte(word))
	}
}

// all adds a value of the session and everything in it.
func (v *values) all(value any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // as the ledger hashes values
	if enc.Encode(value) == nil {
		v.nested(bytes.TrimSpace(b.Bytes()))
	}
}

func (v *values) nested(raw json.RawMessage) {
	if v.left--; v.left < 0 {
		return
	}
	v.add(raw)
	switch raw[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			for _, member := range object {
				v.nested(member)
			}
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, e := range list {
				v.nested(e)
			}
		}
	}
}

func (v *values) add(raw []byte) {
	if hash := hooks.Hash(raw); v.wanted[hash] {
		v.found[hash] = view.Clip(terminal.OneLine(string(raw)), shownValue)
	}
}

// show returns the old and the new value of a change, or their hashes.
func (v *values) show(e *hooks.Entry, c hooks.EntryChange) (before, after string) {
	before, after = c.Old, c.New
	if v == nil {
		return before, after
	}
	if text, ok := v.found[c.New]; ok {
		after = text
	}
	stops, known := v.stop[hookKey(e.Point, e.Plugin, e.Hook)]
	ofCall := slices.Contains([]sdk.Point{sdk.PointToolBefore, sdk.PointToolAfter}, e.Point)
	if text, ok := v.found[c.Old]; ok && known && !stops && !ofCall {
		before = text
	}
	return before, after
}
