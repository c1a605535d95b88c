package telemetry

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// expressions are the queries of the dashboard that is shipped.
func expressions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../deploy/grafana/weir-gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	var d any
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var all []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for key, x := range v {
				if s, ok := x.(string); ok && (key == "expr" || key == "definition") {
					all = append(all, s)
				}
				walk(x)
			}
		}
	}
	walk(d)
	return all
}

var (
	metricName = regexp.MustCompile(`\b(?:weir|http_server|gen_ai|process|go)_[a-z0-9_]+\b`)
	matcher    = regexp.MustCompile(`\b([a-z0-9_]+)(\{[^}]*\})`)
	labelName  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
)

// The dashboard asks for nothing that the gateway does not export: neither a
// metric nor a label, which would be "No data" for ever.
func TestDashboardNamesWhatIsExported(t *testing.T) {
	g := all(GenAI01)
	g.Configured(time.Now())
	g.Reloaded(time.Now(), errors.New("refused"))
	g.Answered("POST", "/v1/*", 200, false, time.Second)
	labels := map[string][]string{} // of each exported series name
	for line := range strings.Lines(scrape(t, g.Handler())) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
		name, _, _ = strings.Cut(name, " ")
		labels[name] = append(labels[name], "job", "instance") // of the scrape
		for _, m := range labelName.FindAllStringSubmatch(rest, -1) {
			labels[name] = append(labels[name], m[1])
		}
	}
	list := expressions(t)
	if len(list) < 30 {
		t.Fatalf("only %d queries were found", len(list))
	}
	for _, e := range list {
		names := metricName.FindAllString(labelName.ReplaceAllString(grouping.ReplaceAllString(e, ""), ""), -1)
		if len(names) == 0 {
			t.Errorf("no metric in %s", e)
		}
		for _, n := range names {
			if labels[n] == nil {
				t.Errorf("%s is not exported: %s", n, e)
			}
		}
		for _, m := range matcher.FindAllStringSubmatch(e, -1) {
			for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels[m[1]], l[1]) {
					t.Errorf("%s has no label %s: %s", m[1], l[1], e)
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(e, -1) {
			for _, l := range strings.Split(by[1], ", ") {
				if !slices.Contains(labels[names[0]], l) {
					t.Errorf("%s has no label %s to group by: %s", names[0], l, e)
				}
			}
		}
	}
}

func TestAnsweredIsTheConvention(t *testing.T) {
	g := NewGateway(Options{})
	g.Answered("POST", "/v1/*", 200, true, 90*time.Second)
	g.Answered("BREW", "", 404, false, time.Millisecond)
	g.Answered("GET", "/v1/*", 503, false, time.Millisecond)
	g.Answered("POST", "/v1/*", 0, false, time.Millisecond)
	text := scrape(t, g.Handler())
	for _, labels := range []string{
		`error_type="",http_request_method="POST",http_response_status_code="200",http_route="/v1/*",url_scheme="https"`,
		`error_type="",http_request_method="_OTHER",http_response_status_code="404",http_route="",url_scheme="http"`,
		`error_type="503",http_request_method="GET",http_response_status_code="503",http_route="/v1/*",url_scheme="http"`,
		`error_type="client_gone",http_request_method="POST",http_response_status_code="",http_route="/v1/*",url_scheme="http"`,
	} {
		if !strings.Contains(text, "http_server_request_duration_seconds_count{"+labels+"} 1\n") {
			t.Errorf("missing: %s", labels)
		}
	}
}

func TestReloads(t *testing.T) {
	g := NewGateway(Options{})
	g.Configured(time.Unix(1000, 0))
	g.Reloaded(time.Unix(2000, 0), nil)
	g.Reloaded(time.Unix(3000, 0), errors.New("a mistake"))
	text := scrape(t, g.Handler())
	for _, line := range []string{
		`weir_gateway_config_reloads_total{result="taken_up"} 1`, `weir_gateway_config_reloads_total{result="refused"} 1`,
		`weir_gateway_config_last_reload_successful 0`, `weir_gateway_config_last_reload_success_timestamp_seconds 2000`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}
