package files

import (
	"slices"
	"strings"
	"sync"
)

// locks lets only one call at a time use a file. The zero value is ready.
type locks struct {
	files sync.Map // *sync.Mutex by path in lower case: names that differ only in case are one file on some systems
}

// lock locks files with these real paths. unlock must be called once.
func (l *locks) lock(files ...string) (unlock func()) {
	keys := make([]string, len(files))
	for i, file := range files {
		keys[i] = strings.ToLower(file)
	}
	slices.Sort(keys) // one order for all callers prevents deadlocks
	var held []*sync.Mutex
	for _, key := range slices.Compact(keys) {
		file, _ := l.files.LoadOrStore(key, &sync.Mutex{})
		file.(*sync.Mutex).Lock()
		held = append(held, file.(*sync.Mutex))
	}
	return func() {
		for _, file := range held {
			file.Unlock()
		}
	}
}
