package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const orderForm = `{"message": "Your order?", "requestedSchema": {"type": "object", "required": ["size", "count"], "properties": {
	"size": {"type": "string", "title": "Size", "enum": ["s", "l"], "enumNames": ["Small", "Large"], "default": "s"},
	"count": {"type": "integer", "title": "Count", "description": "pieces", "minimum": 1, "maximum": 9},
	"gift": {"type": "boolean", "title": "Gift"},
	"mail": {"type": "string", "title": "Mail", "format": "email", "default": "me@home.example"},
	"extras": {"type": "array", "title": "Extras", "items": {"anyOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Bean"}, {"const": "c", "title": "Corn"}]}}}}}`

// formServer is an MCP server on stdin and stdout. Its tool order shows a form, its tool visit asks the user to open an address; both return the
// answer. Its prompt deploy completes its argument, and it has resources.
func formServer() {
	lines := bufio.NewReader(os.Stdin)
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, Arguments any }
		Result json.RawMessage
	}
	reply := func(id json.RawMessage, result string) {
		fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", id, strings.Join(strings.Fields(result), " "))
	}
	var call json.RawMessage // that waits for the user
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		message.ID, message.Method, message.Result = nil, "", nil
		if json.Unmarshal(line, &message) != nil {
			os.Exit(1)
		}
		switch message.Method {
		case "initialize":
			reply(message.ID, `{"protocolVersion": "2025-11-25", "serverInfo": {"name": "shop", "version": "1"}, "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}}`)
		case "tools/list":
			reply(message.ID, `{"tools": [{"name": "order", "inputSchema": {"type": "object"}}, {"name": "visit", "inputSchema": {"type": "object"}}]}`)
		case "prompts/list":
			reply(message.ID, `{"prompts": [{"name": "deploy", "description": "Deploys", "arguments": [{"name": "target", "required": true}]}]}`)
		case "resources/list":
			reply(message.ID, `{"resources": [{"uri": "note://alpha", "name": "Alpha"}, {"uri": "log://beta", "name": "Beta"}]}`)
		case "completion/complete":
			reply(message.ID, `{"completion": {"values": ["production", "preview"]}}`)
		case "prompts/get":
			reply(message.ID, fmt.Sprintf(`{"messages": [{"role": "user", "content": {"type": "text", "text": "deploy to %v"}}]}`, message.Params.Arguments))
		case "tools/call":
			call = message.ID
			params := strings.Join(strings.Fields(orderForm), " ")
			if message.Params.Name == "visit" {
				params = fmt.Sprintf(`{"mode": "url", "message": "Sign the contract", "elicitationId": "1", "url": %q}`, os.Getenv("CONTRACT"))
			}
			fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": \"ask\", \"method\": \"elicitation/create\", \"params\": %s}\n", params)
		case "":
			text, _ := json.Marshal(string(message.Result)) // a text always encodes
			reply(call, fmt.Sprintf(`{"content": [{"type": "text", "text": %s}]}`, text))
		default:
			if message.ID != nil {
				fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": {\"code\": -32601, \"message\": \"unknown\"}}\n", message.ID)
			}
		}
	}
}
