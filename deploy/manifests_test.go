// Package deploy has files for containers, Kubernetes and KServe, which docs/serving.md describes, and tests of them.
package deploy

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tvmgo/internal/testing/must"
)

// object is a document of a YAML file.
type object = map[string]any

// read returns the documents of a file. A key that comes twice is an error.
func read(t *testing.T, path string) (list []object) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	for d := yaml.NewDecoder(file); ; {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err, path)
		require.NotEmpty(t, o, "%s has an empty document", path)
		list = append(list, o)
	}
}

// at returns what is at a path of keys and indices, for example spec.ports.0.name; nil if there is nothing.
func at(in any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch of := in.(type) {
		case object:
			in = of[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(of) {
				return nil
			}
			in = of[i]
		default:
			return nil
		}
	}
	return in
}

// one returns the object of a kind, which has the name tvmgo if there are several.
func one(t *testing.T, list []object, kind string) object {
	t.Helper()
	var found []object
	for _, o := range list {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(o object) bool { return at(o, "metadata.name") != "tvmgo" })
	}
	require.Len(t, found, 1, kind)
	return found[0]
}

// The files that have objects of Kubernetes.
var manifests = []string{"kubernetes.yaml", "kserve.yaml"}

// pods returns what is like a pod in each file: an object with containers.
func pods(t *testing.T) map[string]any {
	deployment := one(t, read(t, "kubernetes.yaml"), "Deployment")
	runtime := one(t, read(t, "kserve.yaml"), "ServingRuntime")
	return map[string]any{"Deployment": at(deployment, "spec.template.spec"), "ServingRuntime": runtime["spec"]}
}

func TestManifests_FollowTheirSchemas(t *testing.T) {
	s := openSchemas(t)
	for _, path := range manifests {
		for _, o := range read(t, path) {
			require.NoError(t, s.check(o), "%s: %v %v", path, o["kind"], at(o, "metadata.name"))
		}
	}
}

// The schemas refuse what Kubernetes refuses.
func TestManifests_MistakesAreSeen(t *testing.T) {
	s := openSchemas(t)
	for _, c := range []struct{ file, kind, old, new, says string }{
		{"kubernetes.yaml", "Deployment", "readOnlyRootFilesystem: true", "readonlyRootFilesystem: true",
			"additional properties 'readonlyRootFilesystem' not allowed"},
		{"kubernetes.yaml", "Deployment", "containerPort: 8000", "containerPort: http", "got string, want integer"},
		{"kubernetes.yaml", "Deployment", "selector:\n", "selektor:\n", "missing property 'selector'"},
		{"kubernetes.yaml", "HorizontalPodAutoscaler", "type: Pods\n      pods:", "pods:", "missing property 'type'"},
		{"kubernetes.yaml", "Service", "port: 8000, ", "", "missing property 'port'"},
		{"kserve.yaml", "ServingRuntime", "protocolVersions:", "protocolVersion:", "'protocolVersion' not allowed"},
		{"kserve.yaml", "ServingRuntime", "multiModel: false", `multiModel: "no"`, "got string, want boolean"},
		{"kserve.yaml", "ServingRuntime", "- name: kserve-container", "- tty: false", "missing property 'name'"},
		{"kserve.yaml", "InferenceService", "modelFormat: {name: tvm}", "modelFormat: {type: tvm}", "'type' not allowed"},
		{"kserve.yaml", "InferenceService", "modelFormat:", "format:", "missing property 'modelFormat'"},
	} {
		text := string(must.Get(os.ReadFile(c.file))(t))
		wrong := strings.ReplaceAll(text, c.old, c.new)
		require.NotEqual(t, text, wrong, "%s has no %q", c.file, c.old)
		path := filepath.Join(t.TempDir(), "wrong.yaml")
		require.NoError(t, os.WriteFile(path, []byte(wrong), 0o600))
		require.ErrorContains(t, s.check(one(t, read(t, path), c.kind)), c.says)
	}
}

// The pods satisfy the profile "restricted" of Kubernetes' Pod Security Standards, and write no file.
func TestManifests_HaveNoRights(t *testing.T) {
	for name, pod := range pods(t) {
		of := func(field string) any { // of the container, or of the pod
			if v := at(pod, "containers.0.securityContext."+field); v != nil {
				return v
			}
			return at(pod, "securityContext."+field)
		}
		require.Len(t, at(pod, "containers"), 1, name)
		require.Equal(t, true, of("runAsNonRoot"), name)
		require.Equal(t, "RuntimeDefault", of("seccompProfile.type"), name)
		require.Equal(t, true, of("readOnlyRootFilesystem"), name)
		require.Equal(t, false, of("allowPrivilegeEscalation"), name)
		require.Equal(t, []any{"ALL"}, of("capabilities.drop"), name)
		require.Equal(t, user(t), of("runAsUser"), name)
	}
	require.Equal(t, true, at(pods(t)["Deployment"], "volumes.0.persistentVolumeClaim.readOnly"))
	require.Equal(t, true, at(pods(t)["Deployment"], "containers.0.volumeMounts.0.readOnly"))
}

// user returns the user of the Containerfile.
func user(t *testing.T) int {
	text := must.Get(os.ReadFile("Containerfile"))(t)
	found := regexp.MustCompile(`(?m)^USER (\d+):\d+$`).FindSubmatch(text)
	require.NotNil(t, found, "the user of the Containerfile is a number")
	return must.Get(strconv.Atoi(string(found[1])))(t)
}

// instruction returns the words of an instruction of the Containerfile.
func instruction(t *testing.T, name string) (words []string) {
	text := must.Get(os.ReadFile("Containerfile"))(t)
	found := regexp.MustCompile(`(?m)^` + name + ` (\[.*\])$`).FindSubmatch(text)
	require.NotNil(t, found, name)
	require.NoError(t, json.Unmarshal(found[1], &words))
	return words
}

// command returns the arguments of the program in a container: those of the image, and those of the manifest.
func command(t *testing.T, pod any) []string {
	words := instruction(t, "ENTRYPOINT")
	require.Equal(t, "/usr/bin/tvmgo", words[0])
	args, _ := at(pod, "containers.0.args").([]any)
	require.NotEmpty(t, args)
	for _, a := range args {
		words = append(words, a.(string))
	}
	return words[1:]
}

// flag returns the last value of a flag.
func flag(t *testing.T, args []string, name string) string {
	for _, a := range slices.Backward(args) {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
	}
	require.Fail(t, "no flag --"+name, "%v", args)
	return ""
}

// A pod has more time to end than the program takes.
func TestManifests_TimeToStop(t *testing.T) {
	for name, pod := range pods(t) {
		grace := 30 // the default of Kubernetes
		if v, ok := at(pod, "terminationGracePeriodSeconds").(int); ok {
			grace = v
		}
		args := command(t, pod)
		delay := must.Get(time.ParseDuration(flag(t, args, "stop-delay")))(t)
		stop := must.Get(time.ParseDuration(flag(t, args, "stop-time")))(t)
		const spans = 5 * time.Second // daemon.Spans sends what is left
		require.LessOrEqual(t, delay+stop+spans, time.Duration(grace)*time.Second, name)
		period, _ := at(pod, "containers.0.readinessProbe.periodSeconds").(int)
		require.Greater(t, delay, time.Duration(period)*time.Second, "%s: a probe sees that the server is not ready", name)
	}
}

// The parts of the manifests that name each other agree: ports, labels, volumes.
func TestManifests_Agree(t *testing.T) {
	ports := map[string][2]string{"Deployment": {"http", "grpc"}, "ServingRuntime": {"http1", "grpc"}}
	for name, pod := range pods(t) {
		args := command(t, pod)
		for i, protocol := range []string{"http", "grpc"} {
			port := at(pod, "containers.0.ports."+strconv.Itoa(i))
			require.Equal(t, ports[name][i], at(port, "name"), name)
			require.Equal(t, ":"+strconv.Itoa(at(port, "containerPort").(int)), flag(t, args, protocol), name)
		}
		for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			p := at(pod, "containers.0."+probe+".httpGet.port")
			require.Contains(t, []any{at(pod, "containers.0.ports.0.name"), at(pod, "containers.0.ports.0.containerPort")}, p)
			path := at(pod, "containers.0."+probe+".httpGet.path").(string)
			require.Contains(t, source(t, "http.go"), `"GET `+path+`"`, "%s: %s", name, probe)
		}
	}
	list := read(t, "kubernetes.yaml")
	d := one(t, list, "Deployment")
	labels := at(d, "spec.template.metadata.labels")
	for _, o := range list {
		switch o["kind"] {
		case "Service":
			require.Equal(t, labels, at(o, "spec.selector"))
			for _, p := range at(o, "spec.ports").([]any) {
				require.Contains(t, []any{"http", "grpc"}, at(p, "targetPort"))
			}
		case "Deployment", "PodDisruptionBudget":
			require.Equal(t, labels, at(o, "spec.selector.matchLabels"))
		}
	}
	require.Equal(t, at(one(t, list, "PersistentVolumeClaim"), "metadata.name"),
		at(d, "spec.template.spec.volumes.0.persistentVolumeClaim.claimName"))
	require.Equal(t, at(d, "metadata.name"), at(one(t, list, "HorizontalPodAutoscaler"), "spec.scaleTargetRef.name"))
	annotations := at(d, "spec.template.metadata.annotations").(object)
	require.Equal(t, flag(t, command(t, pods(t)["Deployment"]), "http"), ":"+annotations["prometheus.io/port"].(string))
	require.Contains(t, source(t, "http.go"), `"GET `+annotations["prometheus.io/path"].(string)+`"`)
}

// source returns a file of package serve.
func source(t *testing.T, name string) string {
	return string(must.Get(os.ReadFile(filepath.Join("../serve", name)))(t))
}
