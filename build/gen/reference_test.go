package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// reference describes the vendor's headers: the includes, and a file that exists if they are installed.
type reference struct{ includes, file, pkg string }

// flags returns the compiler flags for the headers.
func (r reference) flags() []string {
	if strings.HasPrefix(r.file, "/usr/include/") {
		return nil
	}
	return []string{"-I", filepath.Dir(r.file)}
}

// wheel returns the path of a file in the virtual environment that build/scripts/deps.sh installs, or a path that
// states that it is missing.
func wheel(path string) string {
	found, err := filepath.Glob(filepath.Join(root, "build/.cache/venv/lib/python3*/site-packages", path))
	if err != nil || len(found) == 0 {
		return filepath.Join(root, "build/.cache/venv/lib", path)
	}
	return found[0]
}

var references = map[string]reference{
	"cuda": {
		// The names that the driver exports, not those in programs; the binding uses the function with the first layout.
		includes: "#define __CUDA_API_VERSION_INTERNAL 1\n#include <cuda.h>\n#define CUDA_KERNEL_NODE_PARAMS " +
			"CUDA_KERNEL_NODE_PARAMS_v1\n",
		file: wheel("nvidia/cu13/include/cuda.h"),
		pkg:  "the wheel nvidia-cuda-runtime",
	},
	"opencl": {
		includes: "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl.h>\n#include <CL/cl_ext.h>\n",
		file:     "/usr/include/CL/cl.h",
		pkg:      "opencl-headers",
	},
	"vulkan": {
		includes: "#include <vulkan/vulkan_core.h>\n",
		file:     "/usr/include/vulkan/vulkan_core.h",
		pkg:      "libvulkan-dev",
	},
}

// report returns a program that prints every number of a description and assigns every function to a pointer of the
// expected type. ours is true if it is compiled with the generated header.
func report(s *spec, includes string, ours bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n", includes)
	for _, f := range s.funcs {
		name := f.symbol
		if ours {
			name = f.name
		}
		fmt.Fprintf(&b, "__attribute__((unused)) static %s = %s;\n", f.prototype("(*check_"+f.name+")"), name)
	}
	for _, t := range s.tables {
		for _, f := range t.entries {
			name := f.name
			if ours {
				name = fmt.Sprintf("NULL; __attribute__((unused)) static __typeof__(((tvmgo_%s_%s*)0)->%s)* typed_%s = &check_%s",
					s.driver, t.name, f.name, f.name, f.name)
			}
			fmt.Fprintf(&b, "__attribute__((unused)) static %s = %s;\n", f.prototype("(*check_"+f.name+")"), name)
		}
	}
	b.WriteString("int main(void) {\n")
	for _, c := range s.consts {
		fmt.Fprintf(&b, "  printf(\"%s %%lld\\n\", (long long)%s);\n", c.name, c.name)
	}
	for _, d := range s.types {
		if d.kind == "layout" || d.kind == "opaque" {
			continue // checked as a part of the structures that contain it
		}
		fmt.Fprintf(&b, "  printf(\"%s %%zu bytes\\n\", sizeof(%s));\n", d.name, d.name)
		switch d.kind {
		case "type":
			fmt.Fprintf(&b, "  printf(\"%s %%d\\n\", __builtin_types_compatible_p(%s, %s));\n", d.name, d.name, d.of)
		case "struct", "union":
			fmt.Fprintf(&b, "  printf(\"%s aligned to %%zu\\n\", _Alignof(%s));\n", d.name, d.name)
			for _, m := range d.members {
				name, _, _ := strings.Cut(m.name, "[")
				fmt.Fprintf(&b, "  printf(\"%s.%s at %%zu, %%zu bytes\\n\", offsetof(%s, %s), sizeof(((%s*)0)->%s));\n",
					d.name, name, d.name, name, d.name, name)
			}
		case "enum":
			for _, m := range d.members {
				fmt.Fprintf(&b, "  printf(\"%s %%lld\\n\", (long long)%s);\n", m.name, m.name)
			}
		}
	}
	b.WriteString("  return 0;\n}\n")
	return b.String()
}

// build compiles a report. It does not call the functions, so only the C library is linked.
func build(t *testing.T, program string, flags ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "report.c"), filepath.Join(dir, "report")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o644))
	args := append([]string{"-std=gnu11", "-Werror", "-Wall", "-Wno-deprecated-declarations", "-O2", source, "-o", exe},
		flags...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	out, err := exec.Command(exe).Output()
	return string(out), err
}

func TestReference(t *testing.T) {
	for _, name := range specs {
		s := must.Get(readSpec(name))(t)
		t.Run(s.driver, func(t *testing.T) {
			ref := references[s.driver]
			needReference(t, ref)
			ours, err := build(t, report(s, "#include <"+s.header+">\n", true), "-I", filepath.Join(root, "build/include"))
			require.NoError(t, err)
			require.Equal(t, must.Get(build(t, report(s, ref.includes, false), ref.flags()...))(t), ours)
			require.Equal(t, len(s.consts), strings.Count(strings.SplitN(ours, " bytes", 2)[0], "\n"),
				"every constant was compared")
		})
	}
}

// needReference skips a test if the vendor's headers are not installed; on CI that is a failure.
func needReference(t *testing.T, ref reference) {
	t.Helper()
	if _, err := os.Stat(ref.file); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed: %v", ref.pkg, err)
		}
		t.Skipf("%s is not installed: %v", ref.pkg, err)
	}
}

// The tests notice a wrong number, layout or prototype.
func TestReference_SeesMistakes(t *testing.T) {
	type mistake = struct{ from, to string }
	seesMistakes(t, "cuda", []mistake{
		{"CU_LAUNCH_ATTRIBUTE_PRIORITY 8", "CU_LAUNCH_ATTRIBUTE_PRIORITY 9"},
		{"CU_MEMHOSTALLOC_PORTABLE 0x01", "CU_MEMHOSTALLOC_PORTABLE 0x02"},
		{"field     size_t maxSize", "field     int maxSize"},
		{"struct    CUtensorMap 128", "struct    CUtensorMap 64"},
		{"field     tvmgo_cu_dim clusterDim", "field     int clusterDim"},
		{"cuMemFree_v2(CUdeviceptr)", "cuMemFree_v2(CUdeviceptr, int)"},
		{"cuGraphLaunch(CUgraphExec, CUstream)", "cuGraphLaunch(CUgraph, CUstream)"},
		{"tvmgo_cu_init(unsigned int)", "tvmgo_cu_init(void)"},
	})
	seesMistakes(t, "opencl", []mistake{
		{"CL_RGBA 0x10B5", "CL_RGBA 0x10B6"},
		{"field     cl_uint num_samples", "field     cl_ulong num_samples"},
		{"type      cl_context_properties intptr_t", "type      cl_context_properties cl_uint"},
		{"clFinish(cl_command_queue)", "clFinish(cl_command_queue, cl_uint)"},
		{"clWaitForEvents(cl_uint, const cl_event*)", "clWaitForEvents(cl_ulong, const cl_event*)"},
	})
	seesMistakes(t, "vulkan", []mistake{
		{"VK_ERROR_DEVICE_LOST -4", "VK_ERROR_DEVICE_LOST -5"},
		{"VK_STRUCTURE_TYPE_SUBMIT_INFO 4", "VK_STRUCTURE_TYPE_SUBMIT_INFO 5"},
		{"field     VkDeviceSize dstOffset", "field     uint32_t dstOffset"},
		{"field     VkBool32 timelineSemaphore", "field     uint64_t timelineSemaphore"},
		{"vkCmdDispatch(VkCommandBuffer, uint32_t, uint32_t, uint32_t)",
			"vkCmdDispatch(VkCommandBuffer, uint32_t, uint32_t)"},
		{"vkWaitSemaphores(VkDevice, const VkSemaphoreWaitInfo*, uint64_t)",
			"vkWaitSemaphores(VkDevice, const VkSemaphoreWaitInfo*, uint32_t)"},
	})
}

func seesMistakes(t *testing.T, driver string, mistakes []struct{ from, to string }) {
	t.Helper()
	ref := references[driver]
	needReference(t, ref)
	text := must.Get(os.ReadFile(driver + ".spec"))(t)
	for _, c := range mistakes {
		require.Contains(t, string(text), c.from)
		s := must.Get(parseSpec(strings.Replace(string(text), c.from, c.to, 1)))(t)
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, s.header)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, s.header), header(s), 0o644))
		ours := must.Get(build(t, report(s, "#include <"+s.header+">\n", true), "-I", dir))(t)
		theirs, err := build(t, report(s, ref.includes, false), ref.flags()...)
		require.True(t, err != nil || theirs != ours, "%s passed", c.to)
	}
}
