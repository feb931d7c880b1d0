package ability_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

func kvOptions(dir string) ability.Options {
	return ability.Options{DataDir: dir, Grants: []sdk.Capability{grant("kv")}, Limits: ability.Limits{Rate: 1e6, Burst: 1e6}}
}

func TestKV(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "p")
	b := newBroker(t, kvOptions(dir))
	want(t, b, "kv.get", `{"key":"a"}`, `{"found":false,"value":""}`)
	want(t, b, "kv.keys", `{}`, `{"keys":[]}`)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made before it was needed: %v", err)
	}
	want(t, b, "kv.set", `{"key":"a","value":"text"}`, `{}`)
	want(t, b, "kv.set", `{"key":"b/1","value":{"base64":"/w=="}}`, `{}`)
	want(t, b, "kv.set", `{"key":"b/2","value":""}`, `{}`)
	want(t, b, "kv.get", `{"key":"a"}`, `{"found":true,"value":"text"}`)
	want(t, b, "kv.get", `{"key":"b/1"}`, `{"found":true,"value":{"base64":"/w=="}}`)
	want(t, b, "kv.get", `{"key":"b/2"}`, `{"found":true,"value":""}`)
	want(t, b, "kv.keys", `{"prefix":"b/"}`, `{"keys":["b/1","b/2"]}`)

	restarted := newBroker(t, kvOptions(dir))
	want(t, restarted, "kv.keys", `{}`, `{"keys":["a","b/1","b/2"]}`)
	want(t, restarted, "kv.delete", `{"key":"a"}`, `{}`)
	want(t, restarted, "kv.delete", `{"key":"a"}`, `{}`)
	// The first broker, which remembers the values, sees what another changed.
	want(t, b, "kv.get", `{"key":"a"}`, `{"found":false,"value":""}`)
	for name, mode := range map[string]os.FileMode{".": 0o700, "kv.json": 0o600, "../p.lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want mode %v", name, info.Mode(), err, mode)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, b, "kv.keys", `{}`, `{"keys":[]}`)
}

func TestKVQuota(t *testing.T) {
	t.Parallel()
	o := kvOptions(t.TempDir())
	o.Limits.KVBytes, o.Limits.KVKeys, o.Limits.KVKeyBytes, o.Limits.KVValueBytes = 20, 3, 5, 12
	b := newBroker(t, o)
	limited := func(request, text string) {
		t.Helper()
		if status, got := do(t, b, "kv.set", request); status != guest.StatusLimited || !strings.Contains(got, text) {
			t.Errorf("kv.set %s = %v %s, want limited with %q", request, status, got, text)
		}
	}
	want(t, b, "kv.set", `{"key":"a","value":"123456789012"}`, "")
	limited(`{"key":"b","value":"1234567890123"}`, "13 bytes, at most 12")
	limited(`{"key":"abcdef","value":""}`, "6 bytes, at most 5")
	limited(`{"key":"b","value":"1234567"}`, "21 bytes, at most 20")
	want(t, b, "kv.set", `{"key":"b","value":"123456"}`, "")
	want(t, b, "kv.set", `{"key":"a","value":""}`, "") // smaller is always possible
	want(t, b, "kv.set", `{"key":"c","value":""}`, "")
	limited(`{"key":"d","value":""}`, "4 keys, at most 3")
	want(t, b, "kv.keys", ``, `{"keys":["a","b","c"]}`)
	if status, text := do(t, b, "kv.get", `{"key":""}`); status != guest.StatusFailed || !strings.Contains(text, "empty") {
		t.Errorf("an empty key = %v %s", status, text)
	}
}

func TestKVDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(data []byte) []byte{
		"empty":       func([]byte) []byte { return nil },
		"cut off":     func(data []byte) []byte { return data[:len(data)-1] },
		"changed":     func(data []byte) []byte { data[len(data)-3]++; return data },
		"other file":  func([]byte) []byte { return []byte(`{"a":"Yg=="}`) },
		"longer":      func(data []byte) []byte { return append(data, ' ') },
		"new version": func(data []byte) []byte { return append([]byte("tenon-kv 2"), data[10:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want(t, newBroker(t, kvOptions(dir)), "kv.set", `{"key":"a","value":"b"}`, "")
			path := filepath.Join(dir, "kv.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(data)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			b := newBroker(t, kvOptions(dir))
			for op, request := range map[string]string{"kv.get": `{"key":"a"}`, "kv.set": `{"key":"a","value":"c"}`, "kv.delete": `{"key":"a"}`, "kv.keys": ``} {
				if status, text := do(t, b, op, request); status != guest.StatusFailed || !strings.Contains(text, path) || !strings.Contains(text, "move the file away") {
					t.Errorf("%s = %v %s, want an error that names the file and the remedy", op, status, text)
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(damaged) {
				t.Errorf("the file was changed: %q, %v", now, err)
			}
			if err := os.Rename(path, path+".bad"); err != nil {
				t.Fatal(err)
			}
			want(t, b, "kv.set", `{"key":"a","value":"c"}`, "")
		})
	}
}

func TestKVManyWriters(t *testing.T) {
	t.Parallel()
	const brokers, writers, keys = 2, 4, 10
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range brokers {
		b := newBroker(t, kvOptions(dir))
		for j := range writers {
			group.Go(func() {
				for k := range keys {
					request := fmt.Sprintf(`{"key":"%d-%d-%d","value":"v"}`, i, j, k)
					if status, answer := b.Do(t.Context(), ability.Caller{}, "kv.set", []byte(request)); status != guest.StatusOK {
						t.Errorf("%s = %v %s", request, status, answer)
					}
				}
			})
		}
	}
	group.Wait()
	_, got := do(t, newBroker(t, kvOptions(dir)), "kv.keys", "")
	if n := strings.Count(got, `"`)/2 - 1; n != brokers*writers*keys {
		t.Errorf("%d keys are left of %d: %s", n, brokers*writers*keys, got)
	}
}

// writer is a process of its own that stores one key after the other and tells each that is stored.
func writer(dir string) int {
	b := ability.New(ability.Options{Plugin: "p", DataDir: dir, Grants: []sdk.Capability{{Name: "kv"}}, Limits: limits(ability.Limits{Rate: 1e6, Burst: 1e6})})
	for i := range 800 {
		key := fmt.Sprintf("%d-%d", os.Getpid(), i)
		status, answer := b.Do(context.Background(), ability.Caller{}, "kv.set", fmt.Appendf(nil, `{"key":%q,"value":"v"}`, key))
		if status != guest.StatusOK {
			fmt.Fprintln(os.Stderr, status, string(answer))
			return 1
		}
		fmt.Println(key)
	}
	return 0
}

// Two processes that are killed while they write lose nothing that was reported as stored, and damage nothing.
func TestKVKilledProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acknowledged []string
	for range 3 {
		lists := make(chan []string)
		for range 2 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TENON_TEST_WRITER="+dir)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() {
				var keys []string
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if keys = append(keys, lines.Text()); len(keys) == 12 {
						_ = cmd.Process.Kill() // it may be done
					}
				}
				_ = cmd.Wait() // it was killed
				lists <- keys
			}()
		}
		acknowledged = slices.Concat(acknowledged, <-lists, <-lists)
	}
	if len(acknowledged) < 6*12 {
		t.Fatalf("only %d keys were stored", len(acknowledged))
	}
	b := newBroker(t, kvOptions(dir))
	_, stored := do(t, b, "kv.keys", "")
	for _, key := range acknowledged {
		if !strings.Contains(stored, `"`+key+`"`) {
			t.Errorf("the key %s was acknowledged and is lost", key)
		}
	}
	want(t, b, "kv.set", `{"key":"after","value":"v"}`, "")
}
