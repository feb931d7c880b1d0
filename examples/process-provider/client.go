package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

const (
	maxLine      = 4 << 20  // bytes of a line; the arguments of a tool call arrive in one line
	maxErrorBody = 16 << 10 // as sdk.ProviderError wants it
)

// client asks the models of one Ollama server.
type client struct {
	info sdk.ProviderInfo
	http *http.Client
}

var _ sdk.ModelLister = (*client)(nil)

func newClient(info sdk.ProviderInfo) *client { return &client{info, &http.Client{}} }

// Stream sends one request to /api/chat. The answer comes as lines of JSON.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	body, err := json.Marshal(newChat(req))
	if err != nil {
		return err
	}
	response, err := c.send(ctx, http.MethodPost, "/api/chat", body, req.Headers)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	answer := &answer{sink: sink}
	for lines.Scan() {
		if err := answer.line(lines.Bytes()); err != nil {
			return c.failed(err, answer.begun)
		}
	}
	switch {
	case lines.Err() != nil:
		return c.failed(lines.Err(), true)
	case !answer.finished:
		return c.failed(errors.New("the answer ended before it was done"), true)
	}
	return nil
}

// ListModels asks for the models that were pulled.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	response, err := c.send(ctx, http.MethodGet, "/api/tags", nil, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxLine)).Decode(&tags); err != nil {
		return nil, c.failed(err, false)
	}
	models := make([]sdk.Model, 0, len(tags.Models))
	for _, m := range tags.Models {
		models = append(models, sdk.Model{ID: m.Name, ProviderID: c.info.ID, Name: m.Name, ToolCall: true, Temperature: true})
	}
	return models, nil
}

// send returns the response when its status is 200.
func (c *client) send(ctx context.Context, method, path string, body []byte, headers map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.info.BaseURL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.info.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.info.Key)
	}
	for _, list := range []map[string]string{c.info.Headers, headers} {
		for name, value := range list {
			req.Header.Set(name, value)
		}
	}
	response, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(err, false)
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, c.refused(response)
	}
	return response, nil
}

// refused returns the error for a response whose status is not 200.
func (c *client) refused(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // a part is better than nothing
	e := &sdk.ProviderError{ProviderID: c.info.ID, StatusCode: response.StatusCode, Headers: map[string]string{}, Body: string(body)}
	for name := range response.Header {
		e.Headers[strings.ToLower(name)] = response.Header.Get(name)
	}
	var said struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // a proxy's page is not JSON
	e.Message = cmp.Or(said.Error, "the server answered "+response.Status)
	return e
}

// failed returns the error for an answer that broke off. It passes on errors of the sink, which are not the server's.
func (c *client) failed(err error, begun bool) error {
	var own *sinkError
	if errors.As(err, &own) {
		return own.error
	}
	return &sdk.ProviderError{ProviderID: c.info.ID, Cut: begun, Err: err}
}
