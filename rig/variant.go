package rig

import (
	"fmt"
	"maps"
	"slices"
	"time"

	gen "weir/load"
)

// At is the plan on another target, asked in the same way.
func (p *LoadPlan) At(url string) (*LoadPlan, error) {
	q := *p
	q.Target.URL = url
	if err := q.Target.Validate(); err != nil {
		return nil, err
	}
	c, err := q.Config()
	if err == nil {
		err = gen.Check(c)
	}
	return &q, err
}

// WithModel is the plan with every scenario asking for another model.
func (p *LoadPlan) WithModel(name string) (*LoadPlan, error) {
	q := *p
	q.Target.Model = name
	q.Scenarios = slices.Clone(p.Scenarios)
	for i := range q.Scenarios {
		s := &q.Scenarios[i]
		if s.Request.Body != "" {
			return nil, fmt.Errorf("scenario %s has a body of its own, in which its model stands: give another plan instead", s.Name)
		}
		s.Request.Model = ""
	}
	return &q, nil
}

// WithLabels is the plan with further labels.
func (p *LoadPlan) WithLabels(labels map[string]string) *LoadPlan {
	q := *p
	q.Labels = maps.Clone(p.Labels)
	if q.Labels == nil {
		q.Labels = map[string]string{}
	}
	maps.Copy(q.Labels, labels)
	return &q
}

// length is how long the plan's arrivals are due; more is true where a phase
// ends by a number of requests. What is in flight at the end comes on top.
func (p *LoadPlan) length() (d time.Duration, more bool) {
	for _, x := range p.Load {
		if err := x.Load(p.base()); err != nil {
			more = true // the run will say what is wrong
			continue
		}
		d += x.Span()
		more = more || x.Span() == 0
	}
	return d, more
}
