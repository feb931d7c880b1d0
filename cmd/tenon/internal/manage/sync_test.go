package manage

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Every field of a description follows from the code, except for those that only a manifest has.
func TestContributionsAreComplete(t *testing.T) {
	t.Parallel()
	apart := []string{"name", "version", "description", "runtime", "build"}
	var want []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[sdk.Description]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && !slices.Contains(apart, name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(contributions())); !slices.Equal(got, want) {
		t.Errorf("contributions() = %q, want %q", got, want)
	}
}
