package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"text/template"
)

// assets is the page's script and style, built from web/ by make build. The
// committed README alone stands there without.
//
//go:embed assets
var assets embed.FS

// ErrNoAssets says that the program was built without the page's script.
var ErrNoAssets = errors.New("built without web assets: run make build")

// inlineLimit is the size above which the data of a page is compressed, in
// bytes.
const inlineLimit = 256 << 10

// pageTemplate is the page. All of its text is written by the script from the
// data, so that nothing foreign is ever HTML; without scripts the verdict
// stands there, escaped. It is plain text to the template: script and style
// must stay the bytes that their hashes name.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; style-src '{{.StyleHash}}'; script-src '{{.ScriptHash}}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{.Word}} {{.Title}} - weir</title>
<style>{{.Style}}</style>
</head>
<body>
<main id="page"><h1>{{.Word}}</h1><p>{{.Title}}</p><noscript><p>The figures and pictures of this page need scripts. The same figures: weir report RUN -o text.</p></noscript></main>
<script type="text/plain" id="data" data-form="{{.Form}}">{{.Data}}</script>
<script>{{.Script}}</script>
</body>
</html>
`))

// WriteRunHTML writes the run as one page that needs no network: data, script
// and style inside, and a policy that lets nothing else run. It holds neither
// prompts nor answers. Without the built assets the error is ErrNoAssets.
func WriteRunHTML(w io.Writer, r Run) error {
	script, err1 := asset("report.js")
	style, err2 := asset("report.css")
	if err := errors.Join(err1, err2); err != nil {
		return ErrNoAssets
	}
	return r.writePage(w, script, style)
}

// HasAssets reports whether the html format can be written.
func HasAssets() bool {
	_, err := asset("report.js")
	return err == nil
}

func asset(name string) ([]byte, error) { return fs.ReadFile(assets, "assets/"+name) }

func (r Run) writePage(w io.Writer, script, style []byte) error {
	d, err := r.pageData()
	if err != nil {
		return err
	}
	raw, err := d.raw()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	form := "json"
	if len(raw) > inlineLimit {
		form = "gzip"
		if raw, err = squeeze(raw); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	err = pageTemplate.Execute(w, map[string]any{
		"Word": html.EscapeString(d.Word), "Title": html.EscapeString(d.Title), "Form": form,
		"ScriptHash": hashOf(script), "StyleHash": hashOf(style),
		// The assets are ours, and the data is JSON with <, > and & escaped, or base64.
		"Script": string(script), "Style": string(style), "Data": string(raw),
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// hashOf is a source of the content security policy.
func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func squeeze(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes())), nil
}
