package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestPageWithoutAssets: a program built without npm says what it lacks.
func TestPageWithoutAssets(t *testing.T) {
	err := WriteRunHTML(&bytes.Buffer{}, singleRun())
	if HasAssets() {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, ErrNoAssets) || err.Error() != "built without web assets: run make build" {
		t.Error(err)
	}
}

// TestPageHoldsNoPlan: prompts stand in it.
func TestPageHoldsNoPlan(t *testing.T) {
	for _, prompts := range []bool{false, true} {
		r := singleRun()
		r.Info.Plan, r.Prompts = "prompt: the-secret-of-the-house", prompts
		var b bytes.Buffer
		if err := r.writePage(&b, nil, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "the-secret-of-the-house") != prompts {
			t.Errorf("with prompts %v the page holds the wrong of both", prompts)
		}
	}
}

// TestPagePolicy: the policy names exactly the script and style that are there,
// and nothing foreign ends a script element.
func TestPagePolicy(t *testing.T) {
	script, style := []byte("let a = '<b>' && 1;\n"), []byte("a > b { color: red }")
	for name, r := range runs() {
		var b bytes.Buffer
		if err := r.writePage(&b, script, style); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		for what, body := range map[string][]byte{"script-src": script, "style-src": style} {
			sum := sha256.Sum256(body)
			if !strings.Contains(page, what+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") || !strings.Contains(page, string(body)) {
				t.Errorf("%s: %s does not name what is there", name, what)
			}
		}
		if !strings.Contains(page, "default-src 'none'") || regexp.MustCompile(`(?i)<[a-z]+[^<>]*\s(src|href)=`).MatchString(page) {
			t.Errorf("%s: the page points outside", name)
		}
		if n := strings.Count(page, "</script"); n != 2 {
			t.Errorf("%s: %d ends of script elements", name, n)
		}
		if strings.Contains(page, "word word") || strings.Contains(page, "<img") {
			t.Errorf("%s: an answer or foreign markup got into the page", name)
		}
	}
}

func TestPageIsCompressed(t *testing.T) {
	var b bytes.Buffer
	if err := largeRun().writePage(&b, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `data-form="gzip"`) || b.Len() > 3<<20 {
		t.Errorf("%d bytes", b.Len())
	}
}
