package value_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func TestAppended(t *testing.T) {
	t.Parallel()
	writes := []string{"/system/-", "/messages/*/parts/-"}
	for name, c := range map[string]struct {
		saw      string // the value as the hook saw it
		is, want []sdk.Change
	}{
		"a new list":        {`{}`, []sdk.Change{change("/system", `["a","b"]`)}, []sdk.Change{change("/system/-", `"a"`), change("/system/-", `"b"`)}},
		"an empty list":     {`{"system":[]}`, []sdk.Change{change("/system/0", `"a"`)}, []sdk.Change{change("/system/-", `"a"`)}},
		"a further element": {`{"system":["x"]}`, []sdk.Change{change("/system/1", `"a"`)}, []sdk.Change{change("/system/-", `"a"`)}},
		"an old element":    {`{"system":["x"]}`, []sdk.Change{change("/system/0", `"a"`)}, []sdk.Change{change("/system/0", `"a"`)}},
		"the whole list":    {`{"system":["x"]}`, []sdk.Change{change("/system", `["a"]`)}, []sdk.Change{change("/system", `["a"]`)}},
		"an element less":   {`{"system":["x"]}`, []sdk.Change{change("/system/0", "")}, []sdk.Change{change("/system/0", "")}},
		"the end":           {`{"system":["x"]}`, []sdk.Change{change("/system/-", `"a"`)}, []sdk.Change{change("/system/-", `"a"`)}},
		"a list in a list":  {`{"messages":[{"parts":[{}]}]}`, []sdk.Change{change("/messages/0/parts/1", `{}`)}, []sdk.Change{change("/messages/0/parts/-", `{}`)}},
		"another field":     {`{}`, []sdk.Change{change("/other", `["a"]`)}, []sdk.Change{change("/other", `["a"]`)}},
	} {
		got := value.Appended(c.is, writes, func(lists []string) map[string]int { return value.LengthsJSON([]byte(c.saw), lists) })
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPlaced(t *testing.T) {
	t.Parallel()
	v := &sdk.ChatSystemValue{System: []string{"a", "b", "c"}}
	for name, c := range map[string]struct{ is, want []sdk.Change }{
		"two ends":        {[]sdk.Change{change("/system/-", `"x"`), change("/system/-", `"y"`)}, []sdk.Change{change("/system/3", `"x"`), change("/system/4", `"y"`)}},
		"after a new one": {[]sdk.Change{change("/system", `[]`), change("/system/-", `"x"`)}, []sdk.Change{change("/system", `[]`), change("/system/-", `"x"`)}},
		"no list":         {[]sdk.Change{change("/nothing/-", `1`)}, []sdk.Change{change("/nothing/0", `1`)}},
		"nothing to do":   {[]sdk.Change{change("/system/0", `"x"`)}, []sdk.Change{change("/system/0", `"x"`)}},
	} {
		if got := value.Placed(v, c.is); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for n := range 70 {
		if got := value.Lengths(&sdk.ChatSystemValue{System: make([]string, n)}, []string{"/system"})["/system"]; got != n {
			t.Errorf("length %d, want %d", got, n)
		}
	}
	if err := value.Apply(v, []sdk.Change{change("/system", `["q"]`), change("/system/-", `"x"`)}); err != nil || !reflect.DeepEqual(v.System, []string{"q", "x"}) {
		t.Errorf("Apply = %q, %v", v.System, err)
	}
}

// TestManyAdditions: the work for changes that append is proportional to their number, however large the value is.
func TestManyAdditions(t *testing.T) {
	t.Parallel()
	saw := []byte(`{"system":[` + strings.Repeat(`"x",`, 1<<20) + `"x"]}`)
	changes := make([]sdk.Change, 30_000)
	for i := range changes {
		changes[i] = change(fmt.Sprintf("/system/%d", 1<<20+1+i), `"y"`)
	}
	begun := time.Now()
	got := value.Appended(changes, []string{"/system/-"}, func(lists []string) map[string]int { return value.LengthsJSON(saw, lists) })
	got = value.Placed(&sdk.ChatSystemValue{System: []string{"a"}}, got)
	if want := change("/system/30000", `"y"`); !reflect.DeepEqual(got[len(got)-1], want) {
		t.Errorf("last change %v, want %v", got[len(got)-1], want)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("%d additions took %s", len(changes), took)
	}
}

// A hook that only appends to a conversation does not pay for encoding it.
func TestLengthOfLongConversation(t *testing.T) {
	v := conversation(2000)
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := value.Lengths(v, []string{"/messages"})["/messages"]
	runtime.ReadMemStats(&after)
	if n != len(v.Messages) {
		t.Errorf("length %d, want %d", n, len(v.Messages))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(data)/4) {
		t.Errorf("it allocates %d bytes for a conversation of %d", took, len(data))
	}
}
