// Package input answers the requests of an MCP server during a call: the user's model answers sampling, the user fills in forms
// (elicitation), and the host returns the project's directory (roots). Each request belongs to a session; others are refused.
package input

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// Responder answers the requests of one server. It is safe for concurrent use.
type Responder struct {
	Server string   // name of the server, for questions
	Host   sdk.Host // nil while a server is only probed

	roots atomic.Bool // the server asked for the roots
}

// GaveRoots reports whether the server asked for the project's directory.
func (r *Responder) GaveRoots() bool { return r.roots.Load() }

// maxImage is the maximum size of an image in a message to the model, in bytes of base64, as in opencode.
const maxImage = 10 << 20

var errNoCall = errors.New("the request belongs to no tool call")

// Capabilities returns the requests that a server may send.
func Capabilities() mcp.ClientCapabilities {
	return mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
		Sampling:    &mcp.SamplingCapability{},
		Roots: &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{},
	}
}

// Answer answers a request of the server; it is a protocol.Answer.
func (r *Responder) Answer(ctx context.Context, on *protocol.Call, method string, params json.RawMessage) (any, error) {
	switch mcp.MCPMethod(method) {
	case mcp.MethodListRoots:
		r.roots.Store(true)
		return r.listRoots(), nil
	case mcp.MethodSamplingCreateMessage:
		var p sampling
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("invalid parameters: %w", err)
		}
		return r.createMessage(ctx, on, &p)
	case mcp.MethodElicitationCreate:
		var p elicitation
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("invalid parameters: %w", err)
		}
		return r.elicit(ctx, on, &p)
	}
	return nil, protocol.ErrNoMethod
}

// listRoots returns the project's directory.
func (r *Responder) listRoots() *mcp.ListRootsResult {
	result := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	if r.Host != nil {
		dir := r.Host.Project().Worktree
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // a drive letter
		}
		u := url.URL{Scheme: "file", Path: path}
		result.Roots = append(result.Roots, mcp.Root{URI: u.String(), Name: filepath.Base(dir)})
	}
	return result
}

// elicitation is a request to the user. mcp-go's type loses the order of the form's fields.
type elicitation struct {
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema"`
	URL             string          `json:"url"`
}

// elicit asks the user. Without a user, or if the user declines, the answer to the server says so.
func (r *Responder) elicit(ctx context.Context, on *protocol.Call, p *elicitation) (*mcp.ElicitationResult, error) {
	message := fmt.Sprintf("MCP server %s: %s", visible.Strip(r.Server), visible.Bound(p.Message, 2<<10))
	var f form
	var link *sdk.FormField
	var err error
	switch p.Mode {
	case "", mcp.ElicitationModeForm:
		f, err = readForm(p.RequestedSchema)
	case mcp.ElicitationModeURL:
		message, link, err = visit(p.URL, message)
	default:
		err = fmt.Errorf("elicitation mode %q is not supported", p.Mode)
	}
	if err != nil {
		return nil, err
	}
	if on == nil {
		return nil, errNoCall
	}
	resume, err := on.Pause()
	if err != nil {
		return nil, err
	}
	defer resume()
	content, err := f.fill(func(questions []sdk.Question) ([][]string, error) { return r.question(ctx, on, questions) }, message, link)
	result := &mcp.ElicitationResult{}
	switch {
	case err == nil && content == nil, errors.Is(err, sdk.ErrHeadless), errors.Is(err, errors.ErrUnsupported):
		result.Action = mcp.ElicitationResponseActionDecline
	case errors.As(err, new(*sdk.Refusal)):
		result.Action = mcp.ElicitationResponseActionCancel
	case err != nil:
		return nil, err
	default:
		result.Action = mcp.ElicitationResponseActionAccept
		if p.Mode != mcp.ElicitationModeURL {
			result.Content = content
		}
	}
	return result, nil
}

// visit asks the user to open an address. No address is opened before the user has seen all of it, including the host, and
// agreed, see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation ("URL Mode").
func visit(address, message string) (text string, link *sdk.FormField, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return "", nil, errors.New("url: want an absolute http or https address without a user")
	}
	text = fmt.Sprintf("%s\nIt asks you to open this address of %s in your browser:\n%s\nContinue after you have opened it?",
		message, visible.Bound(u.Host, 253), visible.Bound(u.String(), 2<<10))
	return text, &sdk.FormField{Message: message, URL: u.String()}, nil
}

// question asks the user on behalf of a call: through the call's own host if it has one, else through the responder's.
func (r *Responder) question(ctx context.Context, on *protocol.Call, questions []sdk.Question) ([][]string, error) {
	if q, ok := on.Host.(sdk.Questioner); ok {
		return q.Question(ctx, questions)
	}
	if q, ok := r.Host.(sdk.UserQuestioner); ok && on.Session != "" {
		return q.AskUser(ctx, on.Session, questions)
	}
	return nil, errors.ErrUnsupported
}
