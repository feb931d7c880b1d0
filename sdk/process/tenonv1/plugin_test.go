package tenonv1_test

import (
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
