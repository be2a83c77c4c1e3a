package deploy

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// The program takes the arguments of each container: it serves a model, answers the probes, has the metric by which
// replicas are added, and ends without an error.
func TestManifests_ProgramServes(t *testing.T) {
	program := filepath.Join(cmp.Or(os.Getenv("TVMGO_DIST"), "../dist"), "bin", "tvmgo")
	if _, err := os.Stat(program); err != nil {
		require.Empty(t, os.Getenv("CI"), "the program is what make builds, in TVMGO_DIST or dist")
		t.Skip("there is no program: run make first")
	}
	metric := at(one(t, read(t, "kubernetes.yaml"), "HorizontalPodAutoscaler"), "spec.metrics.0.pods.metric.name")
	for name, pod := range pods(t) {
		t.Run(name, func(t *testing.T) {
			folder := models(t)
			mounted, _ := at(pod, "containers.0.volumeMounts.0.mountPath").(string)
			mounted = cmp.Or(mounted, "/mnt/models") // where KServe mounts a model
			model := "model"
			args := command(t, pod)
			for i, a := range args {
				if after, ok := strings.CutPrefix(a, "{{.Name}}"); ok {
					model = "mlp"
					a = model + after
				}
				args[i] = strings.Replace(a, mounted, folder, 1)
			}
			address, stop := start(t, program, append(args, "--http=localhost:0", "--grpc=localhost:0", "--stop-delay=0"))
			for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
				get(t, address+at(pod, "containers.0."+probe+".httpGet.path").(string))
			}
			require.Contains(t, get(t, address+"/v2/models/"+model), `"name":"`+model+`"`)
			require.Contains(t, get(t, address+"/metrics"), "\n"+metric.(string)+`{model="`+model+`"`)
			stop()
		})
	}
}

// models returns a folder with a model, its weights and its settings. It skips the test as machine.Need does.
func models(t *testing.T) string {
	t.Helper()
	machine.Need(t, "../testdata/artifacts/modern/relax_mlp.so")
	folder := t.TempDir()
	for from, to := range map[string]string{"relax_mlp.so": "model.so", "relax_mlp.params": "w.params"} {
		data := must.Get(os.ReadFile(filepath.Join("../testdata/artifacts/modern", from)))(t)
		require.NoError(t, os.WriteFile(filepath.Join(folder, to), data, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "model.json"), []byte(`{"params": "w.params"}`), 0o600))
	return folder
}

// start starts the program, and returns its address for HTTP, and what stops it as Kubernetes does.
func start(t *testing.T, program string, args []string) (address string, stop func()) {
	cmd := exec.CommandContext(t.Context(), program, args...)
	log := &strings.Builder{}
	cmd.Stderr = log
	out := must.Get(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for address == "" && lines.Scan() {
		if a, ok := strings.CutPrefix(lines.Text(), "HTTP on "); ok {
			address = "http://" + a
		}
	}
	if address == "" {
		require.NoError(t, cmd.Wait(), "%v: %s", args, log)
		require.Fail(t, "the program does not say its address", "%v", args)
	}
	return address, func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() { // to the end of the output
		}
		require.NoError(t, cmd.Wait(), log)
	}
}

// get returns the body of a successful response.
func get(t *testing.T, url string) string {
	r := must.Get(http.Get(url))(t)
	defer r.Body.Close()
	body := string(must.Get(io.ReadAll(r.Body))(t))
	require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", url, body)
	return body
}
