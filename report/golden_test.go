package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sessions() map[string]Session {
	return map[string]Session{
		"five": five(), "cut": cutShort(), "refused": refused(), "both": both(), "article": article(), "pipeline": pipeline(),
	}
}

func TestGoldens(t *testing.T) {
	for name, s := range sessions() {
		for _, v := range []struct {
			suffix string
			view   View
		}{{".txt", View{}}, {"-80.txt", View{Width: 80}}} {
			s.View = v.view
			var b bytes.Buffer
			if err := WriteText(&b, s); err != nil {
				t.Fatal(err)
			}
			golden(t, name+v.suffix, b.Bytes())
		}
		var b, pretty bytes.Buffer
		if err := WriteJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(b.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%s: JSON is not one line", name)
		}
		if err := json.Indent(&pretty, b.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", pretty.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report -update writes it anew):\n%s", name, got)
	}
}
