package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestPaceOfAnEvenSchedule(t *testing.T) {
	c := &counter{}
	start := time.Now()
	for i := range 2001 {
		c.at = append(c.at, start.Add(time.Duration(i)*time.Second/paceRate))
	}
	c.at[1000] = c.at[1000].Add(5 * time.Millisecond) // one came late
	p := c.seen("weir")
	if p.n != 2001 || p.err() > 0.0001 || p.at(0.5) > 1 || p.at(1) < 0.5 || len(c.at) != 0 {
		t.Errorf("%d requests, error %g, late %g, %g", p.n, p.err(), p.at(0.5), p.at(1))
	}
	if slow := (pace{rate: 1900}); slow.err() < 0.049 || paceTargets([]pace{slow})[0].met {
		t.Errorf("1900 for %d: error %g", paceRate, slow.err())
	}
}

func TestCrowdTargets(t *testing.T) {
	c := crowds()[0]
	err := json.Unmarshal([]byte(`{"verdict":"pass","health":{"verdict":"suspect","reasons":["late"],"events":90,"lateness_p99_ms":21},"outcomes":{"complete":{"n":10000}}}`), &c.crowdResult)
	if err != nil {
		t.Fatal(err)
	}
	c.want, c.open = 100, 41
	var met []bool
	for _, x := range c.targets() {
		met = append(met, x.met)
	}
	if len(met) != 3 || met[0] || met[1] || !met[2] {
		t.Errorf("%v: 41 KB and 10 events lost are not what is promised", met)
	}
	var b strings.Builder
	if writeCrowds(&b, []*crowd{c}); !strings.Contains(b.String(), "| 10000 × 0.25, 1m0s | 10000 | 90 / 100 | 41.0 / 0.0 | 0 | 0 | 21.0 | suspect; late |") {
		t.Error(b.String())
	}
}
