package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tvmgo/internal/testing/must"
	_ "tvmgo/runtime/all"
	"tvmgo/serve"
)

// rule is a rule of prometheus-adapter, which refuses fields that it does not know.
type rule struct {
	SeriesQuery string `yaml:"seriesQuery"`
	Resources   struct {
		Overrides map[string]struct{ Group, Resource string } // by labels
	}
	Name         struct{ Matches, As string }
	MetricsQuery string `yaml:"metricsQuery"`
}

// parseRule returns the rule in the values of the adapter's Helm chart.
func parseRule(text string) (rule, error) {
	var values struct{ Rules struct{ Custom []rule } }
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&values); err != nil {
		return rule{}, err
	}
	if n := len(values.Rules.Custom); n != 1 {
		return rule{}, fmt.Errorf("there are %d rules: this test checks one", n)
	}
	return values.Rules.Custom[0], nil
}

// series has the labels of a series. Its name is the label __name__.
type series map[string]string

var (
	sample   = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
	label    = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	selector = regexp.MustCompile(`^(\w+)\{(.*)\}$`)
	matcher  = regexp.MustCompile(`^(\w+)(=~|!~|!=|=)"([^"]*)"$`)
	query    = regexp.MustCompile(`^sum\(avg_over_time\((\w+\{.*\})\[(\w+)\]\)\) by \((\w+)\)$`)
)

// scrape returns the series of a server in a pod. Prometheus adds the labels of the pod, and renames those that the
// server already has.
func scrape(t *testing.T, metrics, namespace, pod string) (list []series) {
	for line := range strings.Lines(metrics) {
		found := sample.FindStringSubmatch(line)
		if found == nil {
			require.Regexp(t, `^#`, line)
			continue
		}
		s := series{"__name__": found[1]}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			s[l[1]] = l[2]
		}
		require.NotContains(t, s, "namespace")
		require.NotContains(t, s, "pod")
		s["namespace"], s["pod"] = namespace, pod
		list = append(list, s)
	}
	return list
}

// find returns the series that a selector of PromQL selects. Labels that no series of the name has are errors.
func find(text string, list []series) (found []series, err error) {
	parts := selector.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("not a selector: %s", text)
	}
	found = slices.DeleteFunc(slices.Clone(list), func(s series) bool { return s["__name__"] != parts[1] })
	if len(found) == 0 {
		return nil, fmt.Errorf("the server has no metric %s", parts[1])
	}
	for m := range strings.SplitSeq(parts[2], ",") {
		of := matcher.FindStringSubmatch(m)
		if of == nil {
			return nil, fmt.Errorf("not a matcher of labels: %s", m)
		}
		if len(found) > 0 && found[0][of[1]] == "" {
			return nil, fmt.Errorf("%s has no label %s", parts[1], of[1])
		}
		value := regexp.QuoteMeta(of[3])
		if strings.HasSuffix(of[2], "~") {
			value = of[3]
		}
		whole, err := regexp.Compile("^(?:" + value + ")$")
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(s series) bool {
			return whole.MatchString(s[of[1]]) == strings.HasPrefix(of[2], "!")
		})
	}
	return found, nil
}

// labelOf returns the label that has the name of an object of Kubernetes.
func (r rule) labelOf(resource string) (string, error) {
	for l, of := range r.Resources.Overrides {
		if of.Resource == resource && of.Group == "" {
			return l, nil
		}
	}
	return "", fmt.Errorf("no label is a %s", resource)
}

// check says whether a metric of pods comes from a rule, as prometheus-adapter evaluates it, with the series of the
// pods a and b in the namespace n, and of others.
func (r rule) check(metric string, list []series) error {
	known, err := find(r.SeriesQuery, list)
	if err != nil {
		return fmt.Errorf("seriesQuery: %w", err)
	}
	namespace, err := r.labelOf("namespace")
	if err != nil {
		return err
	}
	pod, err := r.labelOf("pod")
	if err != nil {
		return err
	}
	matches, err := regexp.Compile(r.Name.Matches)
	if err != nil {
		return err
	}
	for _, s := range known {
		at := matches.FindStringSubmatchIndex(s["__name__"])
		if at == nil {
			return fmt.Errorf("name.matches does not match %s", s["__name__"])
		}
		if name := string(matches.ExpandString(nil, r.Name.As, s["__name__"], at)); name != metric {
			return fmt.Errorf("the rule makes the metric %s, the autoscaler asks for %s", name, metric)
		}
	}
	if len(known) == 0 {
		return errors.New("seriesQuery selects nothing")
	}
	parsed, err := template.New("metricsQuery").Delims("<<", ">>").Parse(r.MetricsQuery)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, struct{ Series, LabelMatchers, GroupBy string }{
		known[0]["__name__"], namespace + `="n",` + pod + `=~"a|b"`, pod}); err != nil {
		return err
	}
	of := query.FindStringSubmatch(text.String())
	if of == nil {
		return fmt.Errorf("metricsQuery is not a sum of means: %s", &text)
	}
	asked, err := find(of[1], list)
	if err != nil {
		return fmt.Errorf("metricsQuery: %w", err)
	}
	counts := map[string]int{}
	for _, s := range asked {
		counts[s[namespace]+"/"+s[of[3]]]++
	}
	if want := map[string]int{"n/a": 2, "n/b": 2}; !maps.Equal(counts, want) { // two models
		return fmt.Errorf("metricsQuery adds %v, not %v", counts, want)
	}
	interval, err := time.ParseDuration(of[2])
	if err != nil {
		return err
	}
	if interval < 2*time.Minute {
		return fmt.Errorf("%v may be without a sample: by default, Prometheus asks once a minute", interval)
	}
	return nil
}

// metricsOf returns the metrics of a server with two models, in a format.
func metricsOf(t *testing.T, format string) string {
	file := filepath.Join(models(t), "model.so")
	s := must.Get(serve.New(t.Context(), serve.Options{Models: []string{"one=" + file, "two=" + file},
		Model:  serve.ModelOptions{Params: filepath.Join(filepath.Dir(file), "w.params")},
		Logger: slog.New(slog.DiscardHandler)}))(t)
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/metrics", nil))(t)
	r.Header.Set("Accept", format)
	a := must.Get(http.DefaultClient.Do(r))(t)
	defer a.Body.Close()
	require.True(t, strings.HasPrefix(a.Header.Get("Content-Type"), format), a.Header)
	return string(must.Get(io.ReadAll(a.Body))(t))
}

// The autoscaler's metric comes from the rule of prometheus-adapter and the metrics of the server.
func TestAdapter_MakesTheMetricOfTheAutoscaler(t *testing.T) {
	file := string(must.Get(os.ReadFile("prometheus-adapter.yaml"))(t))
	source := at(one(t, read(t, "kubernetes.yaml"), "HorizontalPodAutoscaler"), "spec.metrics.0")
	require.Equal(t, "Pods", at(source, "type"))
	metric := at(source, "pods.metric.name").(string)
	for _, format := range []string{"text/plain", "application/openmetrics-text"} {
		text := metricsOf(t, format)
		list := slices.Concat(scrape(t, text, "n", "a"), scrape(t, text, "n", "b"), scrape(t, text, "n", "c"),
			scrape(t, text, "m", "a"))
		check := func(text, metric string) error {
			r, err := parseRule(text)
			if err != nil {
				return err
			}
			return r.check(metric, list)
		}
		require.NoError(t, check(file, metric), format)
		require.ErrorContains(t, check(file, metric+"s"), "the autoscaler asks for "+metric+"s")
		for _, c := range []struct{ old, new, says string }{ // mistakes are seen
			{"seriesQuery:", "serieQuery:", "field serieQuery not found"},
			{"seriesQuery: tvmgo_", "seriesQuery: nv_", "the server has no metric nv_inference_pending_request_count"},
			{`pod!=""`, `pods!=""`, "has no label pods"},
			{`pod!=""`, `pod=""`, "seriesQuery selects nothing"},
			{"resource: pod", "resource: service", "no label is a pod"},
			{"pod: {", "instance: {", "has no label instance"},
			{"namespace: {resource", "model: {resource", "metricsQuery adds map[]"},
			{"_count$", "_counts$", "name.matches does not match"},
			{"as: tvmgo_inference_", "as: tvmgo_", "the rule makes the metric tvmgo_pending_request_count"},
			{"<<.Series>>", "tvmgo_inference_pending", "metricsQuery: the server has no metric tvmgo_inference_pending"},
			{"<<.Series>>", "<<.Serie>>", "Serie"},
			{"{<<.LabelMatchers>>}", "", "metricsQuery is not a sum of means"},
			{"{<<.LabelMatchers>>}", `{model!=""}`, "metricsQuery adds map[m/a:2 n/a:2 n/b:2 n/c:2]"},
			{"(<<.GroupBy>>)", "(model)", "metricsQuery adds map[n/one:2 n/two:2]"},
			{"[2m]", "[30s]", "30s may be without a sample"},
		} {
			wrong := strings.Replace(file, c.old, c.new, 1)
			require.NotEqual(t, file, wrong, c.old)
			require.ErrorContains(t, check(wrong, metric), c.says, "%s: %s", format, c.new)
		}
	}
}
