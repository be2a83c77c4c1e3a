// Command proto generates the Go code of inference.proto. It needs no protoc: it compiles the file itself, and runs the
// plugins protoc-gen-go and protoc-gen-go-grpc. Its go.mod pins the versions of all three.
//
//	go generate ./serve/oip/inference
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	root   = "../../.." // of the repository, from this folder
	folder = "serve/oip/inference"
	source = "inference.proto"
)

// plugins have the options that the generated code is made with.
var plugins = map[string]string{"protoc-gen-go": "paths=source_relative", "protoc-gen-go-grpc": "paths=source_relative"}

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "proto:", err)
		os.Exit(1)
	}
}

func generate() error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{filepath.Join(root, folder)}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), source)
	if err != nil {
		return fmt.Errorf("compile %s: %w", source, err)
	}
	file := protoutil.ProtoFromFileDescriptor(files[0])
	for plugin, options := range plugins {
		if err := run(plugin, options, file); err != nil {
			return fmt.Errorf("run %s: %w", plugin, err)
		}
	}
	return nil
}

// run writes the files that a plugin makes from a file.
func run(plugin, options string, file *descriptorpb.FileDescriptorProto) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{source},
		Parameter: &options, ProtoFile: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		return err
	}
	command := exec.Command("go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	out, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.GetFile() {
		if err := os.WriteFile(filepath.Join(root, folder, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
