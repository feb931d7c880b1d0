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
	for name, c := range map[string]struct {
		is   []sdk.Change
		want []string
	}{
		"two ends":         {[]sdk.Change{change("/system/-", `"x"`), change("/system/-", `"y"`)}, []string{"/system/3", "/system/4"}},
		"after a new one":  {[]sdk.Change{change("/system", `["q"]`), change("/system/-", `"x"`)}, []string{"/system", "/system/1"}},
		"after one less":   {[]sdk.Change{change("/system/2", ""), change("/system/-", `"x"`)}, []string{"/system/2", "/system/2"}},
		"an index, no end": {[]sdk.Change{change("/system/0", `"x"`), change("/system/3", `"y"`)}, []string{"/system/0", "/system/3"}},
	} {
		own := *v
		if got, err := value.ApplyPlaced(&own, c.is); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	for name, c := range map[string]sdk.Change{"list": change("/options/a/b/-", `1`), "name": change("/options/-", `[]`)} {
		params := &sdk.ChatParams{Options: sdk.Object{"a": map[string]any{"b": []any{1.0}}}}
		got, err := value.ApplyPlaced(params, []sdk.Change{c})
		if want := strings.Replace(c.Pointer, "b/-", "b/1", 1); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("JSON of any shape, %s: %v, %v, want %s", name, got, err, want)
		}
	}
	for n := range 70 {
		if got := value.Lengths(&sdk.ChatSystemValue{System: make([]string, n)}, []string{"/system"})["/system"]; got != n {
			t.Errorf("length %d, want %d", got, n)
		}
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
	pointers, err := value.ApplyPlaced(&sdk.ChatSystemValue{System: []string{"a"}}, got)
	if want := "/system/30000"; err != nil || pointers[len(pointers)-1] != want {
		t.Errorf("last change %v, want %v, %v", pointers[len(pointers)-1], want, err)
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
