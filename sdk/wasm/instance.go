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
	guest  *guest.Guest
	log    *slog.Logger
	host   guest.Caller
	output []byte // reused by every call
}

func newInstance(p sdk.Plugin, host guest.Caller, log func(level int32, text []byte)) *instance {
	return &instance{guest: guest.New(p), log: newLogger(log), host: host}
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

// methods are the operations that have no number of a hook or a tool.
var methods = map[int32]string{
	guest.DescribeOp: "describe", guest.StartOp: "start", guest.AuthOp: "auth", guest.StreamOp: "stream", guest.ModelsOp: "list_models",
}

// answer sets i.output, or reports that the answer is empty.
func (i *instance) answer(op int32, input []byte) (empty bool, err error) {
	ctx := guest.Detached()
	request := &guest.Request{Method: methods[op], Body: input}
	switch {
	case op >= guest.HookOp && op < guest.ToolOp:
		answer, err := i.guest.Hook(ctx, int(op-guest.HookOp), input)
		if err == nil {
			i.output, err = guest.AppendAnswer(i.output, &answer)
		}
		return len(i.output) == 0, err
	case op >= guest.ToolOp && op < guest.PrepareOp:
		request.Method, request.Tool = "tool", int(op-guest.ToolOp)
	case op >= guest.PrepareOp && op < guest.PrepareOp+0x1000:
		request.Method, request.Tool = "prepare", int(op-guest.PrepareOp)
	case op == guest.StreamOp, op == guest.ModelsOp:
		var stream guest.StreamRequest
		if err := json.Unmarshal(input, &stream); err != nil {
			return false, fmt.Errorf("model request: %w", err)
		}
		request.Body, request.Connection = stream.Request, stream.Connection
	case request.Method == "":
		return false, fmt.Errorf("this version of the sdk has no operation %#x", op)
	}
	answer, err := i.guest.Answer(ctx, request, &guest.Side{Call: i.host, Log: i.log, Event: i.host.SendEvent})
	switch {
	case op == guest.StreamOp && err != nil: // an error of the request is part of the answer
		answer, err = guest.StreamFailure{Error: guest.NewProviderError(err)}, nil
	case op == guest.ModelsOp && errors.Is(err, guest.ErrNoMethod): // the host takes an empty answer for this
		return true, nil
	case op == guest.ModelsOp && err != nil:
		answer, err = guest.ModelList{Error: guest.NewProviderError(err)}, nil
	case op == guest.ModelsOp && err == nil:
		answer = guest.ModelList{Models: answer.([]sdk.Model)}
	}
	if err != nil || answer == nil {
		return true, err
	}
	i.output, err = json.Marshal(answer)
	return false, err
}

// newLogger returns a logger that writes lines of the form: message key=value key="another value". The host adds the time and the plugin.
func newLogger(write func(level int32, text []byte)) *slog.Logger {
	return guest.NewTextLogger(func(level slog.Level, message string, attributes []byte) {
		line := []byte(message)
		if len(attributes) > 0 {
			line = append(append(line, ' '), attributes...)
		}
		write(int32(level), line)
	})
}
