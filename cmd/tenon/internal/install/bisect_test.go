package install

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestReduce(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, strconv.Itoa(i))
	}
	for _, guilty := range [][]string{{"0"}, {"19"}, {"7"}, {"3", "4"}, {"0", "19"}, {"1", "9", "17"}, names} {
		runs := 0
		found, err := reduce(names, func(enabled []string) (bool, error) {
			runs++
			return !slices.ContainsFunc(guilty, func(g string) bool { return !slices.Contains(enabled, g) }), nil
		})
		slices.SortFunc(found, func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
		if err != nil || !slices.Equal(found, guilty) || len(guilty) == 1 && runs > 10 {
			t.Errorf("reduce() = %v, %v after %d runs, want %v", found, err, runs, guilty)
		}
	}
}

// Plugins may hide a failure that others cause. The result fails, and each smaller one succeeds.
func TestReduceHiddenFailure(t *testing.T) {
	t.Parallel()
	names := strings.Split("abcdefgh", "")
	for name, fails := range map[string]func(has func(string) bool) bool{
		"b hides a, unless c": func(has func(string) bool) bool { return has("a") && (!has("b") || has("c")) },
		"b hides a and h, unless g": func(has func(string) bool) bool {
			return has("a") && has("h") && (!has("b") || has("g"))
		},
		"a or h, each hides the other, unless d": func(has func(string) bool) bool {
			return has("a") != has("h") || has("a") && has("d")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try := func(enabled []string) (bool, error) {
				return fails(func(name string) bool { return slices.Contains(enabled, name) }), nil
			}
			found, err := reduce(names, try)
			if err != nil {
				t.Fatal(err)
			}
			if failed, _ := try(found); !failed {
				t.Errorf("succeeds with %v", found)
			}
			for i := range found {
				if failed, _ := try(slices.Delete(slices.Clone(found), i, i+1)); failed {
					t.Errorf("%v: fails without %s, too", found, found[i])
				}
			}
		})
	}
}
