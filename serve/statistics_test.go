package serve

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// counters are the values of /metrics that must never fall, by name and labels.
func counters(t *testing.T, url string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(get(t, url+"/metrics").text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "tvmgo_inference_") && !strings.HasPrefix(name, "tvmgo_inference_pending") {
			all[name+"}"] = must.Get(strconv.ParseFloat(value, 64))(t)
		}
	}
	return all
}

// Counters, statistics and percentiles belong to a name: they go on when its model is loaded again, or unloaded and
// loaded. Refused requests are counted while it is not loaded; names that do not exist are not.
func TestCounters_GoOn(t *testing.T) {
	s, url := start(t, nil)
	repository := url + "/v2/repository/models/affine/"
	wrong := strings.Replace(body(1), "[1, 4]", "[2, 2]", 1)
	before := counters(t, url)
	var succeeded, rejected, malformed uint64
	check := func(after string) {
		t.Helper()
		st := must.Get(s.Statistics("affine", ""))(t)[0]
		require.Equal(t, succeeded, st.Success.Count, after)
		require.Equal(t, succeeded, st.Queue.Count, after)
		require.Equal(t, rejected+malformed, st.Fail.Count, after)
		require.Equal(t, succeeded, st.Executions, after)
		require.Equal(t, succeeded, st.Inferences, after)
		require.Equal(t, succeeded, st.Batches[0].ComputeInfer.Count, after)
		require.NotZero(t, st.Last, after)
		require.NotNil(t, s.Status().Models[0].Latency, after)

		now := counters(t, url)
		for name, value := range before {
			require.GreaterOrEqual(t, now[name], value, "%s: %s", after, name)
		}
		label := `{model="affine",version="1"}`
		for name, want := range map[string]uint64{
			"success" + label: succeeded,
			`failure{model="affine",reason="REJECTED",version="1"}`: rejected,
			`failure{model="affine",reason="OTHER",version="1"}`:    malformed,
			"seconds_count" + label:                                 succeeded,
		} {
			require.EqualValues(t, want, now["tvmgo_inference_request_"+name], "%s: %s", after, name)
		}
		require.EqualValues(t, succeeded, now["tvmgo_inference_exec_count"+label], after)
		before = now
	}
	for range 3 {
		require.Equal(t, 4.0, post(t, url+infer, body(1)).first(t))
		require.Equal(t, http.StatusBadRequest, post(t, url+infer, wrong).status)
		succeeded, malformed = succeeded+1, malformed+1
		check("a request")
		require.Equal(t, http.StatusOK, post(t, repository+"load", "").status)
		check("load")
		require.Equal(t, http.StatusOK, post(t, repository+"unload", "").status)
		require.Equal(t, http.StatusServiceUnavailable, post(t, url+infer, body(1)).status)
		rejected++
		require.Equal(t, http.StatusNotFound, post(t, url+"/v2/models/nothing/infer", body(1)).status)
		require.Equal(t, http.StatusOK, post(t, repository+"load", "").status)
		check("unload and load")
		require.NoError(t, s.Reload(t.Context()))
		check("Reload")
	}
	for name := range before {
		require.NotContains(t, name, "nothing")
	}
}

// The expressions in docs/serving.md use metrics and labels that the server has, rates of what grows, and buckets of
// histograms.
func TestMetrics_ExpressionsOfTheGuide(t *testing.T) {
	_, url := start(t, nil)
	wrong := strings.Replace(body(1), "[1, 4]", "[2, 2]", 1) // it has a reason
	require.Equal(t, http.StatusBadRequest, post(t, url+"/v2/models/affine/infer", wrong).status)
	text := get(t, url+"/metrics").text
	kinds := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (tvmgo_\w+) (\w+)$`).FindAllStringSubmatch(text, -1) {
		kinds[m[1]] = m[2]
	}
	guide := string(must.Get(os.ReadFile("../docs/serving.md"))(t))
	expression := regexp.MustCompile(`(rate\()?\b(tvmgo_\w+?)(_bucket)?(?:\{(\w+)="\w+"\})?\[\d+m\]`)
	found := expression.FindAllStringSubmatch(guide, -1)
	require.Len(t, found, strings.Count(guide, "rate("))
	for _, m := range found {
		whole, rate, name, bucket, label := m[0], m[1], m[2], m[3], m[4]
		require.Contains(t, kinds, name)
		require.Equal(t, bucket != "", kinds[name] == "histogram", whole)
		require.False(t, rate != "" && kinds[name] == "gauge", whole)
		if label != "" {
			require.Regexp(t, name+bucket+`\{[^}]*\b`+label+"=", text)
		}
	}
}
