package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/confined"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/weights"
)

// confinedCommands are commands of the program, and what they say in an environment that lacks something they need. In
// all other environments they succeed. $FILES has the files, $OUT is an empty folder.
var confinedCommands = []struct {
	args string
	says map[string]string // by a part of the environment's name
}{
	{"inspect $FILES/addone.so", nil},
	{"inspect --load $FILES/addone.so", nil},
	{"inspect $FILES/model.onnx", nil},
	{"unpack $FILES/gpu.so $OUT/unpacked", map[string]string{"readonly": "choose a folder that you may write to"}},
	{"run $FILES/addone.so addone --in $FILES/x.npy --like float32[1001] --out $OUT/y.npy",
		map[string]string{"readonly": "read-only file system"}},
	{"run $FILES/model.so --in $FILES/x.npy", nil},
	{"run $FILES/model.so --trusted-keys $FILES/key.pub --in $FILES/x.npy", map[string]string{
		"noproc": "mount /proc", "memfd noexec": "set TMPDIR", "memfd readonly": "set TMPDIR"}},
	{"run $FILES/mlp.so forward --params $FILES/w.params --in $FILES/mlp.npy", nil},
	{"run $FILES/mlp.so forward --params $FILES/w.npz --in $FILES/mlp.npy --out $OUT/y.npz",
		map[string]string{"readonly": "read-only file system"}},
	{"run $FILES/mlp.so forward --params $FILES/w.safetensors --in $FILES/mlp.npy --out $OUT/y.safetensors",
		map[string]string{"readonly": "read-only file system"}},
	{"sign --verify $FILES/model.so --trusted-keys $FILES/key.pub", nil},
	{"devices", nil},
	{"doctor", nil},
	{"build $FILES/addone.tir --target c -o $OUT/c.so", map[string]string{
		"noexec": "set TMPDIR to a folder in which programs may be run", "readonly": "read-only file system"}},
	{"build $FILES/addone.tir --target c --emit c -o $OUT/addone.c",
		map[string]string{"readonly": "read-only file system"}},
	{"compile $FILES/model.onnx --target c -o $OUT/model.so", map[string]string{
		"noexec": "set TMPDIR to a folder in which programs may be run", "readonly": "read-only file system"}},
}

// The commands of the program work in a confined process, or say in one line what they need, and leave neither
// temporary nor half-written files.
func TestConfined_Commands(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	files := confinedFiles(t, l)
	// Drivers of OpenCL keep caches in /tmp, if there is no HOME.
	env := []string{"PATH=" + os.Getenv("PATH"), "TVMGO_CACHE_DIR=off", "OCL_ICD_VENDORS=/nonexistent"}
	for _, without := range []string{"tmp", "noproc tmp", "noshm", "noexec", "readonly tmp", "memfd=EPERM tmp",
		"memfd=EPERM noexec", "memfd=EPERM readonly noexec", "noproc noexec readonly noshm memfd=ENOSYS"} {
		t.Run(without, func(t *testing.T) {
			for _, c := range confinedCommands {
				out := must.Get(os.MkdirTemp("", "out"))(t) // without "=", which ends the name of an --out
				t.Cleanup(func() { os.RemoveAll(out) })
				args := strings.Fields(strings.NewReplacer("$FILES", files, "$OUT", out).Replace(c.args))
				program := append([]string{filepath.Join(l.dist, "bin", "tvmgo")}, args...)
				r := helper.Run(t, confined.Options(without, l.dir, l.dist, files, out), env, program...)
				var says []string
				for part, text := range c.says {
					if hasWords(without, part) {
						says = append(says, text)
					}
				}
				left := must.Get(os.ReadDir(out))(t)
				if len(says) == 0 {
					require.Zero(t, r.Status, "%s: %s", c.args, r.Stderr)
					require.Equal(t, strings.Contains(c.args, "$OUT"), len(left) > 0, c.args)
					continue
				}
				require.Contains(t, []int{1, 2}, r.Status, "%s: %s", c.args, r.Stderr)
				require.True(t, strings.HasPrefix(r.Stderr, "tvmgo: "), "%s: %s", c.args, r.Stderr)
				require.Condition(t, func() bool {
					for _, text := range says {
						if strings.Contains(r.Stderr, text) {
							return true
						}
					}
					return false
				}, "%s says %q, not one of %q", c.args, r.Stderr, says)
				require.Empty(t, left, c.args)
			}
		})
	}
	// The advice is right: a folder where programs may be run.
	out := t.TempDir()
	build := []string{filepath.Join(l.dist, "bin", "tvmgo"), "build", files + "/addone.tir", "--target", "c", "-o",
		out + "/c.so"}
	keep := []string{l.dir, l.dist, files, out}
	r := helper.Run(t, confined.Options("noexec memfd=EPERM", keep...), append(env, "TMPDIR="+out), build...)
	require.Zero(t, r.Status, r.Stderr)
	require.Len(t, must.Get(os.ReadDir(out))(t), 1)
	r = helper.Run(t, confined.Options("tmp", keep...), append(env, "TMPDIR="+out+"/none"), build...)
	require.Equal(t, 1, r.Status)
	require.Contains(t, r.Stderr, "no such file or directory: set TMPDIR to one that can be written")
}

// Without /proc, where the system tells the mask of a process, outputs have the permissions that the mask allows.
func TestConfined_Umask(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	files, out := confinedFiles(t, l), t.TempDir()
	for _, without := range []string{"tmp", "noproc tmp"} {
		for mask, want := range map[string]os.FileMode{"022": 0o755, "027": 0o750, "077": 0o700} {
			path := filepath.Join(out, mask+".so")
			r := helper.Run(t, confined.Options(without, l.dir, l.dist, files, out),
				[]string{"PATH=" + os.Getenv("PATH"), "TVMGO_CACHE_DIR=off"}, "sh", "-c", `umask "$0"; exec "$@"`, mask,
				filepath.Join(l.dist, "bin", "tvmgo"), "build", files+"/addone.tir", "--target", "c", "-o", path)
			require.Zero(t, r.Status, r.Stderr)
			info := must.Get(os.Stat(path))(t)
			require.Equal(t, want, info.Mode().Perm(), "%s, %s", without, mask)
		}
	}
}

// hasWords reports whether an environment has each of the words, as a prefix of one of its own.
func hasWords(environment, words string) bool {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(" "+environment, " "+word) {
			return false
		}
	}
	return true
}

// confinedFiles makes the files of the commands.
func confinedFiles(t *testing.T, l *lab) string {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, copyFile(path("addone.so"), l.modern("addone_llvm")))
	require.NoError(t, copyFile(path("gpu.so"), l.modern("gpu_cuda")))
	require.NoError(t, copyFile(path("x.npy"), l.path("artifacts", "addone_in0.npy")))
	require.NoError(t, copyFile(path("mlp.so"), l.modern("relax_mlp")))
	require.NoError(t, copyFile(path("mlp.npy"), l.path("artifacts", "modern", "relax_mlp_in0.npy")))
	set := must.Open(weights.Open(l.path("artifacts", "modern", "relax_mlp.params")))(t)
	var arrays []weights.Array
	for _, w := range set.Tensors() {
		arrays = append(arrays, weights.Array{Name: w.Name, DType: w.DType, Shape: w.Shape, Data: must.Get(w.Data())(t)})
	}
	for _, format := range []weights.Format{weights.Params, weights.NPZ, weights.Safetensors} {
		require.NoError(t, weights.Write(path("w."+string(format)), format, arrays, nil))
	}
	require.NoError(t, os.WriteFile(path("addone.tir"), []byte(addone), 0o666))
	info := func(name string) *file.ValueInfo {
		return &file.ValueInfo{Name: name, Type: file.TensorType(file.Float, file.Size(1001))}
	}
	model := &file.Model{IRVersion: 8, OpsetImports: []file.Opset{{Version: 13}}, Graph: &file.Graph{Name: "g",
		Nodes:  []*file.Node{{OpType: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Inputs: []*file.ValueInfo{info("x")}, Outputs: []*file.ValueInfo{info("y")}}}
	require.NoError(t, os.WriteFile(path("model.onnx"), model.Encode(), 0o666))
	r := l.run(t, []string{"TVMGO_CACHE_DIR=off"}, filepath.Join(l.dist, "bin", "tvmgo"), "compile", path("model.onnx"),
		"--target", "c", "-o", path("model.so"))
	require.True(t, r.ok, r.out)
	key := signing.NewKey(t)
	signing.Sign(t, key, path("model.so"))
	require.NoError(t, copyFile(path("key.pub"), signing.PublicFile(t, key)))
	return dir
}
