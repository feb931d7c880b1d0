package wasm

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// version is the version of the ABI: major in the upper 16 bits, minor in the lower.
const version = 1<<16 | 1

// Results of tenon_call.
const (
	resultOK        = 0 // the answer is in the output
	resultError     = 1 // the text of an error is in the output
	resultUnchanged = 2 // no output: no change and no verdict
)

// panicked begins the text of an error that was a panic.
const panicked = "panic: "

// instance is the plugin in this module's memory.
type instance struct {
	guest   *guest.Guest
	clients *guest.Clients
	log     *slog.Logger
	host    guest.Caller
	output  []byte // reused by every call
}

func newInstance(p sdk.Plugin, host guest.Caller, log func(level int32, text []byte)) *instance {
	return &instance{guest: guest.New(p), clients: guest.NewClients(p), log: newLogger(log), host: host}
}

// call answers one call of the host. The output is valid until the next call; input is not kept.
func (i *instance) call(op int32, input []byte) (result int32, output []byte) {
	defer func() {
		if p := recover(); p != nil {
			i.log.Debug("panic", "err", p, "stack", string(debug.Stack()))
			result, output = resultError, fmt.Append(nil, panicked, p)
		}
	}()
	i.output = i.output[:0]
	empty, err := i.answer(op, input)
	switch {
	case err != nil:
		return resultError, []byte(err.Error())
	case empty:
		return resultUnchanged, nil
	}
	return resultOK, i.output
}

// answer sets i.output, or reports that the answer is empty.
func (i *instance) answer(op int32, input []byte) (empty bool, err error) {
	switch {
	case op >= guest.HookOp && op < guest.ToolOp:
		return i.hook(int(op-guest.HookOp), input)
	case op >= guest.ToolOp && op < guest.PrepareOp:
		call, err := i.toolCall(input)
		if err != nil {
			return false, err
		}
		result, err := i.guest.Tool(guest.Detached(), int(op-guest.ToolOp), call)
		return false, i.encode(result, err)
	case op >= guest.PrepareOp && op < guest.PrepareOp+0x1000:
		call, err := i.toolCall(input)
		if err != nil {
			return false, err
		}
		response, err := i.guest.Prepare(guest.Detached(), int(op-guest.PrepareOp), call)
		return false, i.encode(response, err)
	case op == guest.AuthOp:
		return false, i.auth(input)
	case op == guest.StreamOp:
		return i.stream(input)
	case op == guest.ModelsOp:
		return false, i.models(input)
	case op == guest.DescribeOp:
		description, err := i.guest.Describe()
		return false, i.encode(description, err)
	case op == guest.StartOp:
		return true, i.start(input)
	}
	return false, fmt.Errorf("this version of the sdk has no operation %#x", op)
}

func (i *instance) start(input []byte) error {
	req, err := guest.Decode[guest.StartRequest]("start", input)
	if err != nil {
		return err
	}
	return i.guest.Start(guest.Detached(), req, guest.NewHost(req, i.log, i.host))
}

func (i *instance) hook(n int, input []byte) (empty bool, err error) {
	answer, err := i.guest.Hook(guest.Detached(), n, input)
	if err == nil {
		i.output, err = guest.AppendAnswer(i.output, &answer)
	}
	return len(i.output) == 0, err
}

func (i *instance) toolCall(input []byte) (*sdk.ToolCall, error) {
	call, err := guest.Decode[sdk.ToolCall]("tool call", input)
	if err == nil {
		call.Host = guest.NewToolHost(i.host, i.log)
	}
	return call, err
}

func (i *instance) auth(input []byte) error {
	req, err := guest.Decode[guest.AuthRequest]("sign-in", input)
	if err != nil {
		return err
	}
	answer, err := i.guest.Auth(guest.Detached(), req, i.host)
	return i.encode(answer, err)
}

// stream sends a request to a model. An error of the request is part of the answer.
func (i *instance) stream(input []byte) (empty bool, err error) {
	req, err := guest.Decode[guest.StreamRequest]("model request", input)
	if err != nil {
		return false, err
	}
	ctx := guest.Detached()
	err = i.clients.Stream(ctx, req, func(e sdk.StreamEvent) error { return i.host.SendEvent(ctx, e) })
	if err == nil {
		return true, nil
	}
	return false, i.encode(guest.StreamFailure{Error: guest.NewProviderError(err)}, nil)
}

func (i *instance) models(input []byte) error {
	req, err := guest.Decode[guest.StreamRequest]("list of models", input)
	if err != nil {
		return err
	}
	models, err := i.clients.Models(guest.Detached(), &req.Connection)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return i.encode(guest.ModelList{Error: guest.NewProviderError(err)}, nil)
	}
	return i.encode(guest.ModelList{Models: models}, err)
}

func (i *instance) encode(v any, err error) error {
	if err != nil {
		return err
	}
	i.output, err = json.Marshal(v)
	return err
}
