package sdktest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// replayTimeout is the least time for a hook in Replay: the result must not depend on how busy the machine is, and the first call starts the
// plugin.
const replayTimeout = 20 * time.Second

// Difference is a difference between an answer and its recording.
type Difference struct {
	Record int       // index among the records, from 0
	Point  sdk.Point // of the record
	Hook   string
	// Field is a JSON pointer into the value, or "verdict", "reason", "message", "error" or "hook".
	Field string
	// Want is the recorded JSON, and Got the current one; empty if missing.
	Want, Got string
}

// String returns one line, or several if the texts are long.
func (d Difference) String() string {
	where := fmt.Sprintf("record %d: %s", d.Record+1, d.Point)
	if d.Hook != "" && d.Hook != string(d.Point) {
		where += " (" + d.Hook + ")"
	}
	want, got := cmp.Or(d.Want, "nothing"), cmp.Or(d.Got, "nothing")
	if len(want)+len(got) > 80 || strings.Contains(want+got, "\n") {
		return fmt.Sprintf("%s: %s\n  recorded: %s\n  now:      %s", where, d.Field, want, got)
	}
	return fmt.Sprintf("%s: %s: recorded %s, now %s", where, d.Field, want, got)
}

// Replay calls the hooks of a started plugin with the inputs and values of the records, and compares the results with the recorded ones: the
// value after the changes, the verdict with its reason and message, and the text of the error. Different changes that lead to the same value are
// not a difference. Each hook may take 20 s, even if its own limit is shorter.
//
// Errors of Replay are about the records or the context, never about the plugin. A hook that the plugin no longer has is a Difference.
func Replay(ctx context.Context, p sdk.Plugin, records []Record) ([]Difference, error) {
	var out []Difference
	for i := range records {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		r := &records[i]
		if err := r.check(); err != nil {
			return out, fmt.Errorf("record %d: %w", i+1, err)
		}
		differences, err := replay(ctx, p, r)
		if err != nil {
			return out, fmt.Errorf("record %d: %w", i+1, err)
		}
		for _, d := range differences {
			d.Record, d.Point, d.Hook = i, r.Point, r.Hook
			out = append(out, d)
		}
	}
	return out, nil
}

func replay(ctx context.Context, p sdk.Plugin, r *Record) ([]Difference, error) {
	info, _ := hookpoint.Of(string(r.Point)) // checked
	name := cmp.Or(r.Hook, string(info.Point))
	hooks := hooksAt(p, info.Point)
	at := slices.IndexFunc(hooks, func(h sdk.Hook) bool { return h.Name == name })
	if at < 0 {
		return []Difference{{Field: "hook", Want: quote(name)}}, nil
	}
	hook := &hooks[at]
	hook.Timeout = max(hook.Timeout, replayTimeout)
	answer, err := run(ctx, &info, hook, &sdk.RemoteCall{Point: info.Point, Hook: hook.Name, Input: r.Input, Value: r.Value})
	if err == nil {
		err = judge(&info, &answer)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	got := newRecord(&sdk.RemoteCall{Point: info.Point, Hook: hook.Name}, &answer, err)
	var out []Difference
	for _, text := range []struct{ field, want, got string }{
		{"error", r.Error, got.Error}, {"verdict", string(r.Answer.Verdict), string(got.Answer.Verdict)},
		{"reason", r.Answer.Reason, got.Answer.Reason}, {"message", r.Answer.Message, got.Answer.Message},
	} {
		if text.want != text.got {
			out = append(out, Difference{Field: text.field, Want: quote(text.want), Got: quote(text.got)})
		}
	}
	if info.NewValue == nil || err != nil || r.Error != "" {
		return out, nil
	}
	values, err := compareValues(&info, r, got.Answer.Changes)
	return append(out, values...), err
}

// compareValues applies the recorded changes and the current ones, and compares the results.
func compareValues(info *hookpoint.Info, r *Record, changes []sdk.Change) ([]Difference, error) {
	before, want, got := info.NewValue(), info.NewValue(), info.NewValue()
	for _, v := range []any{before, want, got} {
		if err := value.Decode(r.Value, v); err != nil {
			return nil, err
		}
	}
	if err := value.Apply(want, r.Answer.Changes); err != nil {
		return nil, err
	}
	if err := value.Apply(got, changes); err != nil {
		return []Difference{{Field: "error", Got: quote(err.Error())}}, nil
	}
	different, err := value.Diff[sdk.Change](want, got)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, c := range different {
		d := Difference{Field: cmp.Or(c.Pointer, "value")}
		for _, side := range []struct {
			value any
			text  *string
		}{{want, &d.Want}, {got, &d.Got}} {
			raw, err := value.Lookup(side.value, c.Pointer)
			if err != nil {
				return nil, err
			}
			*side.text = string(jsontext.Compact(raw))
		}
		out = append(out, d)
	}
	return out, nil
}

func quote(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%q", text)
}
