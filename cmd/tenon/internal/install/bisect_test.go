package install

import (
	"slices"
	"strconv"
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
		found, err := reduce(nil, names, func(enabled []string) (bool, error) {
			runs++
			return !slices.ContainsFunc(guilty, func(g string) bool { return !slices.Contains(enabled, g) }), nil
		})
		slices.SortFunc(found, func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
		if err != nil || !slices.Equal(found, guilty) || len(guilty) == 1 && runs > 10 {
			t.Errorf("reduce() = %v, %v after %d runs, want %v", found, err, runs, guilty)
		}
	}
}
