package inference

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tvmgo/internal/testing/must"
)

// The facts about a .proto file are lines as testdata/facts.py prints them:
//
//	message ModelReadyRequest
//	ModelReadyRequest 2 version string
//	DataType 14 TYPE_BF16
//	call GRPCInferenceService ModelReady inference.ModelReadyRequest inference.ModelReadyResponse

func messageFacts(all protoreflect.MessageDescriptors) (facts []string) {
	for i := range all.Len() {
		m := all.Get(i)
		name := strings.TrimPrefix(string(m.FullName()), "inference.")
		facts = append(facts, "message "+name)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			kind := f.Kind().String()
			if f.Message() != nil {
				kind = string(f.Message().Name())
			} else if f.Enum() != nil {
				kind = string(f.Enum().Name())
			}
			if f.Cardinality() == protoreflect.Repeated {
				kind = "repeated " + kind
			}
			facts = append(facts, fmt.Sprintf("%s %d %s %s", name, f.Number(), f.Name(), kind))
		}
		facts = append(facts, messageFacts(m.Messages())...)
	}
	return facts
}

// generatedFacts are those of the generated code.
func generatedFacts() []string {
	facts := messageFacts(File_inference_proto.Messages())
	for i := range File_inference_proto.Enums().Len() {
		e := File_inference_proto.Enums().Get(i)
		for j := range e.Values().Len() {
			facts = append(facts, fmt.Sprintf("%s %d %s", e.Name(), e.Values().Get(j).Number(), e.Values().Get(j).Name()))
		}
	}
	service := File_inference_proto.Services().Get(0)
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		kind := ""
		if m.IsStreamingClient() {
			kind += "in "
		}
		if m.IsStreamingServer() {
			kind += "out "
		}
		facts = append(facts, fmt.Sprintf("call %s %s %s%s %s", service.Name(), m.Name(), kind, m.Input().FullName(),
			m.Output().FullName()))
	}
	return facts
}

var (
	begin = regexp.MustCompile(`^ *(message|enum|service|oneof) (\w+) \{(\})?$`)
	field = regexp.MustCompile(`^ *(repeated )?(\w+) (\w+) = (\d+);`)
	entry = regexp.MustCompile(`^ *map<(\w+), (\w+)> (\w+) = (\d+);`)
	value = regexp.MustCompile(`^ *(\w+) = (\d+);`)
	call  = regexp.MustCompile(`^ *rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);`)
)

// writtenFacts are those of a file in the form of inference.proto.
func writtenFacts(text string) (facts []string) {
	var outer []string // the names of what a line is in; "" for a oneof
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), " //")
		in := strings.Join(slices.DeleteFunc(slices.Clone(outer), func(s string) bool { return s == "" }), ".")
		if m := begin.FindStringSubmatch(line); m != nil {
			name := m[2]
			if m[1] == "message" {
				facts = append(facts, "message "+strings.TrimPrefix(in+"."+name, "."))
			} else if m[1] == "oneof" {
				name = ""
			}
			if m[3] == "" {
				outer = append(outer, name)
			}
		} else if strings.TrimSpace(line) == "}" {
			outer = outer[:len(outer)-1]
		} else if m := entry.FindStringSubmatch(line); m != nil {
			name := strings.ToUpper(m[3][:1]) + m[3][1:] + "Entry"
			facts = append(facts, fmt.Sprintf("%s %s %s repeated %s", in, m[4], m[3], name), "message "+in+"."+name,
				fmt.Sprintf("%s.%s 1 key %s", in, name, m[1]), fmt.Sprintf("%s.%s 2 value %s", in, name, m[2]))
		} else if m := field.FindStringSubmatch(line); m != nil {
			facts = append(facts, fmt.Sprintf("%s %s %s %s%s", in, m[4], m[3], m[1], m[2]))
		} else if m := value.FindStringSubmatch(line); m != nil {
			facts = append(facts, fmt.Sprintf("%s %s %s", in, m[2], m[1]))
		} else if m := call.FindStringSubmatch(line); m != nil {
			kind := strings.ReplaceAll(m[2], "stream", "in") + strings.ReplaceAll(m[4], "stream", "out")
			facts = append(facts, fmt.Sprintf("call %s %s %sinference.%s inference.%s", in, m[1], kind, m[3], m[5]))
		}
	}
	return facts
}

func TestGeneratedCode_IsOfProto(t *testing.T) {
	text := must.Get(os.ReadFile("inference.proto"))(t)
	require.ElementsMatch(t, writtenFacts(string(text)), generatedFacts(), "go generate ./serve/oip/inference")
}

// without returns the facts of a that are not in b, if they are about calls, or about messages and enums that are in b.
func without(a, b []string) (facts []string) {
	about := func(fact string) string { return strings.Fields(fact)[0] }
	known := map[string]bool{"message": false}
	for _, fact := range b {
		if name, message := strings.CutPrefix(fact, "message "); message {
			known[name] = true
		} else {
			known[about(fact)] = true
		}
	}
	for _, fact := range a {
		if known[about(fact)] && about(fact) != "message" && !slices.Contains(b, fact) {
			facts = append(facts, fact)
		}
	}
	return facts
}

func TestMessages_AreThoseOfClients(t *testing.T) {
	for _, test := range []struct {
		client        string
		messages      int      // that this package has, too
		more, leftOut []string // what only this package has, and what only the client has: expressions for facts
	}{{
		client: "triton", messages: 45,
		more: []string{"RepositoryModel(Load|Unload)Response 1 model_name string",
			"RepositoryModel(Load|Unload)Response 2 is(Loaded|Unloaded) bool"},
		leftOut: []string{"Model(Config|Input|Output) .*", "ModelStatistics [89] (memory_usage|response_stats) .*",
			"call GRPCInferenceService (Cuda|System)SharedMemory.*",
			"call GRPCInferenceService (TraceSetting|LogSettings) .*"},
	}, {
		client: "kserve", messages: 27,
		more: []string{"InferParameter [45] (double_param double|uint64_param uint64)",
			"RepositoryModel(Load|Unload)Request [123] (repository_name|model_name|parameters) .*",
			"call GRPCInferenceService (ModelStreamInfer|ModelConfig|ModelStatistics|RepositoryIndex) .*"},
		leftOut: []string{"RepositoryModel(Load|Unload)Request 1 model_name string"},
	}} {
		t.Run(test.client, func(t *testing.T) {
			text := string(must.Get(os.ReadFile("testdata/" + test.client + ".txt"))(t))
			theirs, ours := strings.Split(strings.TrimSpace(text), "\n"), generatedFacts()
			both := slices.DeleteFunc(slices.Clone(ours), func(fact string) bool {
				return !strings.HasPrefix(fact, "message ") || !slices.Contains(theirs, fact)
			})
			require.Len(t, both, test.messages)
			except := func(facts, expressions []string) []string {
				all := regexp.MustCompile("^(" + strings.Join(expressions, "|") + ")$")
				return slices.DeleteFunc(facts, all.MatchString)
			}
			require.Empty(t, except(without(ours, theirs), test.more))
			require.Empty(t, except(without(theirs, ours), test.leftOut))
		})
	}
}
