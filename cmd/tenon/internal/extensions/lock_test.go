package extensions

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"version":1,"servers":{"a":{"definition":"sha256:00","offers":"sha256:00"}}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"servers":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := decodeLock(data)
		if (l == nil) == (err == nil) {
			t.Fatalf("lock %v and error %v", l, err)
		}
		if l != nil && l.Version != 1 {
			t.Errorf("version %d", l.Version)
		}
	})
}
