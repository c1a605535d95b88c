package report

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestRunGoldens(t *testing.T) {
	for name, r := range runs() {
		for _, f := range RunFormats {
			if f.Name == "html" || f.Name == "csv" && name == "mixed" {
				continue // html: see TestPages; 800 rows of CSV say no more than a few
			}
			var b bytes.Buffer
			if err := f.Write(&b, r); err != nil {
				t.Fatalf("%s as %s: %v", name, f.Name, err)
			}
			got := b.Bytes()
			if f.Name == "json" {
				if name == "mixed" {
					continue // see TestRunJSONContract
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, got, "", " "); err != nil {
					t.Fatal(err)
				}
				got = pretty.Bytes()
			}
			golden(t, "run-"+name+"."+map[string]string{"text": "txt", "json": "json", "csv": "csv", "junit": "xml", "markdown": "md", "benchfmt": "bench"}[f.Name], got)
		}
	}
}
