//go:build unix

package protocol

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// A server sends more requests than it reads answers, and ends. The answers that cannot be sent must not keep the connection.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	const script = `read -r first
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
read -r initialized
i=0
while [ $i -lt 1500 ]; do i=$((i+1)); echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"m\"}"; done`
	d := &Dialer{
		Command: &Command{Name: "sh", Args: []string{"-c", script}, Environ: os.Environ(), Dir: t.TempDir()},
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
	select {
	case <-c.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("the end of the server was not noticed")
	}
	c.Close()
}
