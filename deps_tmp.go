//go:build depstmp

package tenon

import (
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/hashicorp/go-plugin"
	_ "github.com/mark3labs/mcp-go/client"
	_ "github.com/mark3labs/mcp-go/client/transport"
	_ "github.com/mark3labs/mcp-go/server"
	_ "github.com/tetratelabs/wazero"
	_ "golang.org/x/time/rate"
	_ "github.com/fsnotify/fsnotify"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/proto"
	_ "github.com/bufbuild/protocompile"
)
