package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	sdkprocess "github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// rawGuest violates the contract in the way that its kind says.
type rawGuest struct {
	tenonv1.UnimplementedPluginServer
	kind string
	host chan grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest] // holds the stream to the host
}

func serveRaw(kind string) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: sdkprocess.ProtocolVersion, MagicCookieKey: sdkprocess.CookieKey, MagicCookieValue: sdkprocess.CookieValue},
		Plugins:         plugin.PluginSet{"x": rawPlugin{guest: &rawGuest{kind: kind, host: make(chan grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest], 1)}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxSendMsgSize(1<<30))...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

type rawPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	guest *rawGuest
}

func (p rawPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.guest.kind == "rawempty" {
		tenonv1.RegisterPluginServer(s, tenonv1.UnimplementedPluginServer{})
		return nil
	}
	tenonv1.RegisterPluginServer(s, p.guest)
	return nil
}

func (rawPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (g *rawGuest) Start(context.Context, *tenonv1.StartRequest) (*tenonv1.StartResponse, error) {
	return &tenonv1.StartResponse{}, nil
}

func (g *rawGuest) Host(stream grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest]) error {
	g.host <- stream
	<-stream.Context().Done()
	return nil
}

// ask sends a request to the host and returns the answer as text.
func (g *rawGuest) ask(req *tenonv1.HostRequest) string {
	stream := <-g.host
	defer func() { g.host <- stream }()
	if err := stream.Send(req); err != nil {
		return err.Error()
	}
	answer, err := stream.Recv()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s %s", answer.Id, answer.Status, answer.Body)
}

func (g *rawGuest) Hooks(stream grpc.BidiStreamingServer[tenonv1.HookRequest, tenonv1.HookResponse]) error {
	switch g.kind {
	case "rawclose":
		return nil
	case "rawdeaf":
		<-stream.Context().Done()
		return nil
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		if req.Cancel {
			continue
		}
		response := &tenonv1.HookResponse{Id: req.Id, Answer: []byte("{")}
		switch g.kind {
		case "rawstranger": // sends an unrequested answer
			response.Id += 1000
		case "rawflood":
			response.Answer = []byte(`{"reason":"` + strings.Repeat("x", 2*sdkprocess.MaxMessage) + `"}`)
		case "rawtypes":
			response.Answer = []byte(`{"changes":7}`)
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (g *rawGuest) Prepare(context.Context, *tenonv1.PrepareRequest) (*tenonv1.PrepareResponse, error) {
	return &tenonv1.PrepareResponse{}, nil
}

func (g *rawGuest) Tool(req *tenonv1.ToolRequest, stream grpc.ServerStreamingServer[tenonv1.ToolResponse]) error {
	switch g.kind {
	case "rawasker":
		var request tenonv1.HostRequest
		call := struct {
			Args struct{ Token, Operation string }
		}{}
		if err := json.Unmarshal(req.Call, &call); err != nil {
			return err
		}
		request.Id, request.Token = 5, call.Args.Token
		if call.Args.Token == "mine" {
			request.Token = req.Token
		}
		if call.Args.Operation != "" {
			request.Request = &tenonv1.HostRequest_Operation{Operation: &tenonv1.Operation{Name: call.Args.Operation, Request: []byte(`{"key":"k"}`)}}
		}
		result, err := json.Marshal(sdk.ToolResult{Output: g.ask(&request)})
		if err != nil {
			return err
		}
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: result}})
	case "rawflood":
		for {
			progress := &tenonv1.Progress{Title: strings.Repeat("x", 1<<20), Metadata: []byte("{")}
			if err := stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{Progress: progress}}); err != nil {
				return err
			}
		}
	case "rawtypes":
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: []byte(`[]`)}})
	}
	return nil
}

func (g *rawGuest) Stream(req *tenonv1.StreamRequest, stream grpc.ServerStreamingServer[tenonv1.StreamResponse]) error {
	send := func(event string) {
		_ = stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: []byte(event)}})
	}
	send(`{"type":"text","id":"1","text":"a"}`)
	switch g.kind {
	case "rawtypes":
		send(`{"type":7}`)
	case "rawcrowd":
		send(`{"type":"text","id":"1","metadata":{"a":[[]` + strings.Repeat(",[]", 1<<20) + `]}}`)
	case "rawflood":
		send(`{"type":"finish","reason":"stop"}`)
		send(`{"type":"text","id":"1","text":"b"}`)
	}
	return nil
}

// rawDescription is what a raw guest is said to contribute.
func rawDescription(kind string) sdk.Description {
	d := description("plain")
	d.Name = kind
	d.Protocols = []string{"raw"}
	return d
}
