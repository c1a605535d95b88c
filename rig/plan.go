package rig

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/config"
	"weir/dialect"
	"weir/judge"
	gen "weir/load"
	"weir/probe"
)

// LoadPlan is the plan of a bench or a search for capacity, as its YAML file
// says it. PlanKeys documents every key.
type LoadPlan struct {
	Target         Target            `yaml:"target"`
	Labels         map[string]string `yaml:"labels"`
	Load           Phases            `yaml:"load"`
	Scenarios      Scenarios         `yaml:"scenarios"`
	Gates          judge.Gates       `yaml:"gates"`
	Rules          []judge.Rule      `yaml:"rules"`
	Prices         *judge.Prices     `yaml:"prices"`
	AllowUndecided bool              `yaml:"allow_undecided"`
	Seed           uint64            `yaml:"seed"`
	Drain          time.Duration     `yaml:"drain"`
	Precise        bool              `yaml:"precise"`
	Cache          Cache             `yaml:"cache"`
	KeepText       bool              `yaml:"keep_text"`
	HealthLimits   HealthLimits      `yaml:"health_limits"`

	file, text string
	dialect    dialect.Dialect
	pem        []byte
}

// Target is the service under load, and how it is asked.
type Target struct {
	URL         string            `yaml:"url"`
	Dialect     string            `yaml:"dialect"`
	Model       string            `yaml:"model"`
	APIKeyEnv   string            `yaml:"api_key_env"`
	Header      map[string]string `yaml:"header"`
	HTTP        string            `yaml:"http"`
	Connections string            `yaml:"connections"`
	CACert      string            `yaml:"cacert"`
	Insecure    bool              `yaml:"insecure"`
	Compressed  bool              `yaml:"compressed"`
	Timeout     time.Duration     `yaml:"timeout"`
}

// Scenario is a scenario of the load with what is demanded of it.
type Scenario struct {
	gen.Scenario `yaml:",inline"`
	Gates        judge.Gates  `yaml:"gates"`
	Rules        []judge.Rule `yaml:"rules"`
}

// Cache says whether the service's prompt cache may answer: warm or cold.
type Cache string

// UnmarshalText reads warm or cold.
func (c *Cache) UnmarshalText(b []byte) error {
	if !slices.Contains([]string{"warm", "cold"}, string(b)) {
		return fmt.Errorf("%q is not known; allowed: warm, cold", b)
	}
	*c = Cache(b)
	return nil
}

// HealthLimits are limits of the instrument's health that a plan changes.
type HealthLimits map[string]float64

// Validate refuses limits that there are not.
func (h HealthLimits) Validate() error { return gen.CheckLimits(h) }

// Phases is the load: stretches one after the other.
type Phases []gen.Phase

// Scenarios is the buckets of requests.
type Scenarios []Scenario

// ReadPlan reads a plan's file.
func ReadPlan(file string) (*LoadPlan, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ParsePlan(file, data)
}

// ParsePlan reads a plan. Every mistake is an error that names file, line,
// column and what is allowed there. Files that the plan names are read too.
func ParsePlan(file string, data []byte) (*LoadPlan, error) {
	p := &LoadPlan{file: file}
	if err := config.Decode(file, data, p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil { // an empty document never met it
		return nil, fmt.Errorf("%s:1:1: %w", file, err)
	}
	for i := range p.Load {
		if p.Load[i].Name == "" {
			p.Load[i].Name = fmt.Sprintf("p%d", i+1)
		}
	}
	if err := p.checkGates(); err != nil {
		return nil, err
	}
	if err := p.readFiles(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p.text = p.withoutSecrets(string(data))
	c, err := p.Config()
	if err == nil {
		err = gen.Check(c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Validate says what a plan lacks.
func (p *LoadPlan) Validate() error {
	switch {
	case p.Target.URL == "":
		return errors.New(`target is missing: write target: {url: "http://127.0.0.1:8000"}`)
	case len(p.Load) == 0:
		return errors.New("load is missing: write load: [{name: steady, arrivals: poisson, rate: 5/s, duration: 30s}]")
	case len(p.Scenarios) == 0:
		return errors.New(`scenarios is missing: write scenarios: [{name: plain, request: {prompt: "…"}}]`)
	case p.Drain < 0:
		return errors.New("drain is negative: give how long streams may go on after the last phase, such as 30s")
	}
	return nil
}

// checkGates holds gates against the marks, phases and prices there are.
func (p *LoadPlan) checkGates() error {
	all := judge.Names{Phases: p.phaseNames(), Priced: p.Prices != nil}
	var faults []error
	for _, s := range p.Scenarios {
		n := all
		n.Marks = s.markNames()
		all.Marks = append(all.Marks, n.Marks...)
		faults = append(faults, s.Gates.Check(n))
		if _, err := p.watch(s); err != nil {
			faults = append(faults, fmt.Errorf("%s: scenario %s: %w", p.file, s.Name, err))
		}
	}
	faults = append(faults, p.Gates.Check(all))
	return errors.Join(faults...)
}

func (s Scenario) markNames() []string { return slices.Sorted(maps.Keys(s.Marks)) }

// watch prepares the rules of a scenario: its own, then those of all.
func (p *LoadPlan) watch(s Scenario) (*judge.Watch, error) {
	return judge.NewWatch(s.Name, append(slices.Clone(s.Rules), p.Rules...), s.markNames())
}

func (p *LoadPlan) phaseNames() []string {
	var names []string
	for _, x := range p.Load {
		names = append(names, x.Name)
	}
	return names
}

// Validate refuses two phases of one name.
func (p Phases) Validate() error {
	var names []string
	for _, x := range p {
		if x.Name != "" && slices.Contains(names, x.Name) {
			return fmt.Errorf("two phases are called %q: names tell them apart in every table", x.Name)
		}
		names = append(names, x.Name)
		if x.Name == "" {
			continue
		}
		if err := gen.CheckName(x.Name); err != nil {
			return err
		}
	}
	return nil
}

// Validate refuses two scenarios of one name.
func (s Scenarios) Validate() error {
	var names []string
	for _, x := range s {
		if slices.Contains(names, x.Name) {
			return fmt.Errorf("two scenarios are called %q: names tell them apart in every table", x.Name)
		}
		names = append(names, x.Name)
	}
	return nil
}

// Validate says what is wrong with a target.
func (t Target) Validate() error {
	if _, err := dialect.ParseURL(t.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	for _, c := range []struct {
		key, value string
		allowed    []string
	}{
		{"http", t.HTTP, []string{"1.1", "2", "h2c"}},
		{"connections", t.Connections, []string{"reuse", "fresh"}},
	} {
		if c.value != "" && !slices.Contains(c.allowed, c.value) {
			return fmt.Errorf("%s %q is not known; allowed: %s", c.key, c.value, strings.Join(c.allowed, ", "))
		}
	}
	if t.Timeout < 0 {
		return errors.New("timeout is negative: give the total deadline of a request, such as 2m")
	}
	if d := t.Dialect; d != "" && d != "auto" && !isFile(d) {
		if _, err := dialect.Lookup(d); err != nil {
			return fmt.Errorf("dialect: %w, or a file.yaml", err)
		}
	}
	return nil
}

func isFile(dialect string) bool {
	return strings.HasSuffix(dialect, ".yaml") || strings.HasSuffix(dialect, ".yml")
}

// readFiles reads the files that target names.
func (p *LoadPlan) readFiles() (err error) {
	t := &p.Target
	switch {
	case t.Dialect == "" || t.Dialect == "auto":
	case isFile(t.Dialect):
		text, err := os.ReadFile(p.path(t.Dialect))
		if err != nil {
			return fmt.Errorf("target.dialect: %w", err)
		}
		if p.dialect, err = dialect.Load(t.Dialect, text); err != nil {
			return fmt.Errorf("target.dialect: %w", err)
		}
	default:
		if p.dialect, err = dialect.Lookup(t.Dialect); err != nil {
			return fmt.Errorf("target.dialect: %w", err)
		}
	}
	if t.CACert == "" {
		return nil
	}
	if p.pem, err = os.ReadFile(p.path(t.CACert)); err != nil {
		return fmt.Errorf("target.cacert: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(p.pem) {
		return fmt.Errorf("target.cacert: %s holds no PEM certificate", t.CACert)
	}
	return nil
}

func (p *LoadPlan) base() string { return filepath.Dir(p.file) }

func (p *LoadPlan) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(p.base(), file)
}

// WantsModel reports whether some scenario names no model, and its body is
// the dialect's to make.
func (p *LoadPlan) WantsModel() bool {
	return p.Target.Model == "" && slices.ContainsFunc(p.Scenarios, func(s Scenario) bool {
		return s.Request.Model == "" && s.Request.Body == ""
	})
}

// Text is the plan as it was written, without secrets.
func (p *LoadPlan) Text() string { return p.text }

// File is the name of the plan's file.
func (p *LoadPlan) File() string { return p.file }

// withoutSecrets masks what the plan holds in clear that should have been a
// ${VARIABLE}: the password of its URL, and headers that carry credentials.
func (p *LoadPlan) withoutSecrets(text string) string {
	if u, err := dialect.ParseURL(p.Target.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			text = maskIn(text, password)
		}
		if shown := probe.Target(u); u.User == nil && shown != u.String() {
			text = maskIn(text, p.Target.URL, shown)
		}
	}
	headers := []map[string]string{p.Target.Header}
	for _, s := range p.Scenarios {
		headers = append(headers, s.Request.Header)
	}
	for _, h := range headers {
		for name, value := range h {
			if isSecret(name) {
				text = maskIn(text, value)
			}
		}
	}
	return text
}

// isSecret reports whether a header's name speaks of credentials.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "key", "token", "cookie", "secret", "password"}, func(s string) bool {
		return strings.Contains(name, s)
	})
}

func maskIn(text, secret string, with ...string) string {
	if len(secret) < 4 {
		return text
	}
	return strings.ReplaceAll(text, secret, append(with, "***")[0])
}

// apiKey is the key from the environment.
func (t Target) apiKey() (string, error) {
	if t.APIKeyEnv == "" {
		return os.Getenv("WEIR_API_KEY"), nil
	}
	if key := os.Getenv(t.APIKeyEnv); key != "" {
		return key, nil
	}
	return "", fmt.Errorf("target.api_key_env: the environment variable %s is not set", t.APIKeyEnv)
}

// Config is the plan as a load.
func (p *LoadPlan) Config() (gen.Config, error) {
	t := p.Target
	key, err := t.apiKey()
	if err != nil {
		return gen.Config{}, err
	}
	c := gen.Config{
		Phases: p.Load, Target: t.URL, Dialect: p.dialect, Labels: p.Labels, Seed: p.Seed, Drain: p.Drain,
		Precise: p.Precise, Base: p.base(), APIKey: key, Limits: p.HealthLimits, Header: http.Header{},
		Probe: probe.Options{
			HTTP: t.HTTP, Fresh: t.Connections == "fresh", CACert: p.pem, Insecure: t.Insecure,
			Compressed: t.Compressed, Timeout: t.Timeout, KeepText: p.KeepText,
		},
	}
	for name, value := range t.Header {
		c.Header.Set(name, value)
	}
	for _, s := range p.Scenarios {
		one := s.Scenario
		if one.Request.Model == "" {
			one.Request.Model = t.Model
		}
		c.Scenarios = append(c.Scenarios, one)
	}
	return c, c.Probe.Validate()
}
