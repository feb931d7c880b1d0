// Command process-provider is a tenon plugin, a process: it contributes a provider, the models of an Ollama server, and speaks the
// API of that server.
package main

import (
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/lines"
)

func main() { lines.Serve(plugin()) }

// protocol is the name that "protocol" in a provider's configuration refers to.
const protocol = "ollama-chat"

// plugin contributes the protocol and the server on this machine. Others are added in the configuration, with the same protocol.
func plugin() *sdk.Bundle {
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "process-provider", Version: "1.0.0", Description: "Models of an Ollama server, over its own API", Carrier: sdk.CarrierProcess,
		},
		ProviderList: []sdk.ProviderInfo{{ID: "ollama-native", Name: "Ollama (native API)", Protocol: protocol, BaseURL: "http://127.0.0.1:11434"}},
		ProtocolList: []sdk.Protocol{{Name: protocol, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return newClient(info), nil }}},
	}
}
