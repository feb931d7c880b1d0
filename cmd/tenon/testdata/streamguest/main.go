// Command streamguest is a WASM guest with a provider. Its server sends a JSON object with a piece of the answer in each line; the last
// one is {"done":true}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

var _ = wasm.Serve(plugin())

func main() {}

// maxLine is the maximum size of a line in bytes.
const maxLine = 1 << 20

func plugin() *sdk.Bundle {
	c := &client{}
	return &sdk.Bundle{
		Info:    sdk.Manifest{Name: "streamguest", Version: "1.0.0", Carrier: sdk.CarrierWASM},
		OnStart: func(_ context.Context, h sdk.Host) error { c.host = h; return nil },
		ProtocolList: []sdk.Protocol{{Name: "lines", Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
			return &client{host: c.host, info: info, plugin: c}, nil
		}}},
	}
}

// client asks the server of one provider.
type client struct {
	host   sdk.Host
	info   sdk.ProviderInfo
	plugin *client
}

// Stream sends the request and passes the pieces on as they arrive.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	answer, stream, err := c.plugin.host.(sdk.StreamFetcher).FetchStream(ctx, &sdk.FetchRequest{Method: "POST", URL: c.info.BaseURL + "/" + req.Model.ID, Body: body})
	if err != nil {
		return &sdk.ProviderError{ProviderID: c.info.ID, Err: err}
	}
	defer stream.Close()
	if answer.Status != 200 {
		text, _ := io.ReadAll(io.LimitReader(stream, maxLine))
		return &sdk.ProviderError{ProviderID: c.info.ID, StatusCode: answer.Status, Message: string(text)}
	}
	lines := bufio.NewReaderSize(stream, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return &sdk.ProviderError{ProviderID: c.info.ID, Cut: true, Err: err}
		}
		var piece struct {
			Text string
			Done bool
		}
		if err := json.Unmarshal(line, &piece); err != nil {
			return &sdk.ProviderError{ProviderID: c.info.ID, Err: fmt.Errorf("line %.40q: %w", line, err)}
		}
		if piece.Done {
			return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: sdk.FinishStop})
		}
		if err := sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "t", Text: piece.Text}); err != nil {
			return err
		}
	}
}
