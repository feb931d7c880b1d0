// Package conformanceclient is the client that the conformance suite runs, once for each scenario, with the address of its server: it drives
// the command as a user does, with a new home directory. Its test binary is the program, which starts in a fraction of the time of the
// command's tests.
package conformanceclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/ptytest"
)

// slots is how many clients of the conformance suite run at the same time: the suite starts all of them together.
const slots = 4

// TestMain runs the client. $BROWSER is the program as the user's browser.
func TestMain(*testing.M) {
	do := runClient
	if os.Args[0] == os.Getenv("BROWSER") {
		do = browse
	}
	if err := do(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// browse opens the address and follows redirects.
func browse(address string) error {
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

func runClient(address string) error {
	release, err := takeSlot(os.Getenv("TENON_CONFORMANCE_SLOTS"))
	if err != nil {
		return err
	}
	defer release()
	home, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	c := &user{ctx: ctx, home: home, scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &c.given); err != nil {
			return err
		}
	}
	return c.use(address)
}

// takeSlot waits for one of the places to run in; each is a locked file.
func takeSlot(dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(os.Getpid()%slots)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// user is a user of the command in one scenario.
type user struct {
	ctx      context.Context
	home     string
	scenario string
	given    struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []call
	}
}

type call struct {
	Name      string
	Arguments json.RawMessage
}

type tool struct {
	Name        string
	InputSchema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	raw json.RawMessage // the schema
}

// use configures the server and calls its tools: in one turn, so that they share a connection, and on a terminal, where questions get the
// answer of a user who presses enter.
func (c *user) use(address string) error {
	server := map[string]any{"type": "http", "url": address, "timeout": 60_000} // the suite's servers are slow while all its clients run
	if strings.HasPrefix(c.scenario, "auth/") {
		server["oauth"] = c.oauth()
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": server}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.home, "config", "tenon"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.home, "config", "tenon", "mcp.json"), config, 0o600); err != nil {
		return err
	}
	if strings.HasPrefix(c.scenario, "auth/") {
		return c.signIn()
	}
	tools, err := c.tools()
	if err != nil {
		return err
	}
	var prompt []string
	for _, call := range c.calls(tools) {
		prompt = append(prompt, "s_"+call.Name+" "+string(call.Arguments))
	}
	if len(prompt) == 0 {
		return nil
	}
	return c.onTerminal("run", "--auto", strings.Join(prompt, "\n"))
}

// oauth is the configuration of sign-in that the scenario gives its client.
func (c *user) oauth() map[string]string {
	if c.given.ClientID == "" {
		return map[string]string{"clientId": "https://conformance-test.local/client-metadata.json"}
	}
	out := map[string]string{"clientId": c.given.ClientID}
	if c.given.ClientSecret != "" {
		out["clientSecret"] = c.given.ClientSecret
	}
	return out
}

// signedInTool is the only tool of the servers that require a sign-in.
const signedInTool = "test-tool"

// signIn signs in, and calls the tool; if it needs more scopes, once more after signing in again.
func (c *user) signIn() error {
	if _, err := c.tenon("mcp", "login", "s"); err != nil {
		return err
	}
	_, err := c.tenon("mcp", "call", "s", signedInTool)
	if err != nil && strings.Contains(err.Error(), "more scopes") {
		if _, err := c.tenon("mcp", "login", "s"); err != nil {
			return err
		}
		_, err = c.tenon("mcp", "call", "s", signedInTool)
	}
	return err
}

// tools returns the tools of the server, as the command lists them.
func (c *user) tools() ([]tool, error) {
	text, err := c.tenon("mcp", "tools", "s", "--format", "json")
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []tool }
	var raw struct {
		Tools []struct{ InputSchema json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, err
	}
	for i := range list.Tools {
		list.Tools[i].raw = raw.Tools[i].InputSchema
	}
	return list.Tools, nil
}

// calls returns the calls that a scenario wants: those it names, else one of each tool. An argument called schema gets the schema of the
// first tool.
func (c *user) calls(tools []tool) []call {
	if len(c.given.ToolCalls) > 0 {
		return c.given.ToolCalls
	}
	var out []call
	for _, t := range tools {
		arguments := map[string]any{}
		for n, name := range t.InputSchema.Required {
			switch t.InputSchema.Properties[name].Type {
			case "number", "integer":
				arguments[name] = n + 1
			case "string":
				arguments[name] = "text"
			case "boolean":
				arguments[name] = true
			case "object":
				arguments[name] = map[string]any{}
			}
			if name == "schema" {
				arguments[name] = tools[0].raw
			}
		}
		raw, err := json.Marshal(arguments)
		if err != nil {
			panic(err) // strings, numbers and JSON that was decoded
		}
		out = append(out, call{t.Name, raw})
	}
	return out
}

func (c *user) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, "tenon", args...)
	cmd.Dir = c.home
	cmd.Env = []string{
		"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "GOGC=400", "TENON_DATA_DIR=" + filepath.Join(c.home, "data"), // see rareCollection
		"XDG_CONFIG_HOME=" + filepath.Join(c.home, "config"), "XDG_CACHE_HOME=" + filepath.Join(c.home, "cache"),
		`TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`, "BROWSER=" + os.Getenv("BROWSER"),
	}
	return cmd
}

// tenon runs the command and returns what it printed.
func (c *user) tenon(args ...string) (string, error) {
	var out, errs strings.Builder
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	fmt.Printf("$ tenon %s\n%s%s", strings.Join(args, " "), out.String(), errs.String())
	if err != nil {
		return "", fmt.Errorf("tenon %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// onTerminal runs the command on a terminal and answers each question with an empty line.
func (c *user) onTerminal(args ...string) error {
	control, side, err := ptytest.Open(40, 200)
	if err != nil {
		return err
	}
	defer control.Close()
	cmd := c.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	side.Close()
	if err != nil {
		return err
	}
	var text strings.Builder
	buf := make([]byte, 4096)
	for answered := 0; ; {
		n, err := control.Read(buf)
		text.Write(buf[:n])
		for asked := strings.Count(text.String(), "/cancel ends): "); answered < asked; answered++ {
			if _, err := control.WriteString("\n"); err != nil {
				return err
			}
		}
		if err != nil {
			break // EIO: the other side is closed
		}
	}
	fmt.Printf("$ tenon %s\n%s", strings.Join(args, " "), text.String())
	return cmd.Wait()
}
