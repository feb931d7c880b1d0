package tenonv1_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// The generated code is that of plugin.proto. When it is not, run go generate in this folder.
func TestGenerated(t *testing.T) {
	t.Parallel()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(t.Context(), "plugin.proto")
	if err != nil {
		t.Fatal(err)
	}
	want, got := protodesc.ToFileDescriptorProto(files[0]), protodesc.ToFileDescriptorProto(tenonv1.File_plugin_proto)
	for _, d := range []*descriptorpb.FileDescriptorProto{want, got} {
		d.SourceCodeInfo = nil
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("plugin.proto (-) against the generated code (+):\n%s", diff)
	}
	if proto.Size(got) == 0 {
		t.Error("the descriptor is empty")
	}
}

// The page for those who write plugins in other languages speaks of every method, and of every kind of request to the host.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/process-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	file := tenonv1.File_plugin_proto
	methods := file.Services().ByName("Plugin").Methods()
	for i := range methods.Len() {
		heading := regexp.MustCompile(`(?m)^### .*\b` + string(methods.Get(i).Name()) + `\b`)
		if !heading.Match(page) {
			t.Errorf("no heading names the method %s", methods.Get(i).Name())
		}
	}
	requests := file.Messages().ByName("HostRequest").Oneofs().ByName("request").Fields()
	for i := range requests.Len() {
		if !strings.Contains(string(page), "| `"+string(requests.Get(i).Name())+"` |") {
			t.Errorf("no line is about the request %s", requests.Get(i).Name())
		}
	}
	fields := file.Messages().ByName("HookRequest").Fields()
	for i := range fields.Len() {
		if !strings.Contains(string(page), "| `"+string(fields.Get(i).Name())+"` |") {
			t.Errorf("no line is about the field %s of HookRequest", fields.Get(i).Name())
		}
	}
}
