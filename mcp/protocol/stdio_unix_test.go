//go:build unix

package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
)

// dialScript connects to a server that is a shell script, from its end of the handshake on. Its requests are answered when the connection
// ends.
func dialScript(t *testing.T, script string) *Conn {
	const handshake = `read -r first
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
read -r initialized
`
	d := &Dialer{
		Command: &Command{Name: "sh", Args: []string{"-c", handshake + script}, Environ: os.Environ(), Dir: t.TempDir()},
		Timeout: 10 * time.Second, Log: NewLog("", nil), Notified: func(string, map[string]any) {},
		Answer: func(ctx context.Context, _ *Call, _ string, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A program that the sandbox does not let run: the error names the setting that does.
func TestConfinedProgram(t *testing.T) {
	t.Parallel()
	d := &Dialer{Timeout: 10 * time.Second, Log: NewLog("", nil), Command: &Command{
		Name: "sh", Environ: os.Environ(), Dir: t.TempDir(),
		Confine: func() (confine.Policy, error) { return confine.Policy{}, fs.ErrPermission },
	}}
	if c, err := d.Dial(t.Context()); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "sandbox.unconfined") {
		t.Errorf("Dial() = %v, %v, want an error with the setting", c, err)
	}
}

// A server sends more requests than it reads answers, and ends. The answers that cannot be sent must not keep the connection.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `i=0
while [ $i -lt 1500 ]; do i=$((i+1)); echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"m\"}"; done`)
	select {
	case <-c.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("the end of the server was not noticed")
	}
}

// wantDone sends a request, whose answer must be {"done":true}.
func wantDone(t *testing.T, c *Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if raw, err := c.Request(ctx, "m", nil); err != nil || string(raw) != `{"done":true}` {
		t.Errorf("answer = %s, %v", raw, err)
	}
}

// A server sends more requests than fit into the pipes before it reads an answer. The reading goroutine must not wait for it.
func TestManyRequestsBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `read -r request
ping='{"jsonrpc":"2.0","id":"'$(printf %0200d 0)'","method":"ping"}'
i=0
while [ $i -lt 2000 ]; do i=$((i+1)); echo "$ping"; done
echo '{"jsonrpc":"2.0","id":2,"result":{"done":true}}'
cat >/dev/null`)
	wantDone(t, c)
}

// A server sends many requests at once, and reads. It gets an answer or a refusal for each.
func TestManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `read -r request
i=0 all=
while [ $i -lt 300 ]; do i=$((i+1)); all="$all{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"ping\"}
"; done
printf %s "$all"
while [ $i -gt 0 ]; do i=$((i-1)); read -r answer; done
echo '{"jsonrpc":"2.0","id":2,"result":{"done":true}}'
cat >/dev/null`)
	wantDone(t, c)
}

// A call may take longer than the start of a server, or less.
func TestSilence(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `cat >/dev/null`)
	c.dialer.Silence = 50 * time.Millisecond
	if _, err := c.CallTool(t.Context(), &Call{}, "slow", false, nil); err == nil || !strings.Contains(err.Error(), "in 50ms") {
		t.Errorf("CallTool() = %v, want an error about 50ms", err)
	}
	c.dialer.Timeout, c.dialer.Silence = 40*time.Millisecond, time.Hour // a prompt is not a call of a tool
	if _, err := c.Ask(t.Context(), &Call{}, "prompts/get", map[string]any{}); err == nil || !strings.Contains(err.Error(), "in 40ms") {
		t.Errorf("Ask() = %v, want an error about 40ms", err)
	}
}

// A message of many values ends the connection: decoded, they take a multiple of their text.
func TestManyValues(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `read -r request
printf '['
yes '{},' | head -n 500000 | tr -d '\n'
echo '{}]'
cat >/dev/null`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Request(ctx, "m", nil); !errors.Is(err, errTooLong) {
		t.Errorf("error = %v, want %v", err, errTooLong)
	}
}

// A server that closed its output is ended, because it cannot answer.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	c := dialScript(t, `read -r request
exec >&- sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Request(ctx, "m", nil); err == nil || !strings.Contains(err.Error(), "it closed its output") {
		t.Errorf("error = %v", err)
	}
}
