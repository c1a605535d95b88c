package rig

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// modelList says where a service lists its models, by the path asked for; ""
// where its protocol names none.
func modelList(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	u.RawQuery, u.Fragment = "", ""
	switch i := strings.LastIndex(u.Path, "/v1"); {
	case i >= 0 && (len(u.Path) == i+3 || u.Path[i+3] == '/'):
		u.Path = u.Path[:i] + "/v1/models"
	case u.Path == "" || u.Path == "/":
		u.Path = "/v1/models"
	case strings.HasSuffix(u.Path, "/api/chat"), strings.HasSuffix(u.Path, "/api/generate"):
		u.Path = u.Path[:strings.LastIndex(u.Path, "/api/")] + "/v1/models"
	default:
		return "", nil
	}
	return u.String(), nil
}

// maxModelList bounds the list of models that is read, in bytes.
const maxModelList = 4 << 20

// FirstModel asks the service of the target for its models and returns the
// first, or "" and why there is none. It is a request of its own, before any
// measured one, on a connection of its own.
func FirstModel(ctx context.Context, target, apiKey string, header http.Header, t *tls.Config) (model, why string) {
	list, err := modelList(target)
	if err != nil || list == "" {
		return "", "the path names no list of models"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, list, nil)
	if err != nil {
		return "", "no list of models"
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if apiKey != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+apiKey)
	}
	transport := &http.Transport{TLSClientConfig: t, DisableKeepAlives: true}
	client := http.Client{
		Transport: transport,
		// A redirect could carry the key to another host; a list of models has no need of one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", "GET " + req.URL.Path + unanswered(ctx, err)
	}
	defer resp.Body.Close()
	return firstModel(req.URL.Path, resp)
}

// unanswered says why a list did not come, without the URL, which may hold
// credentials.
func unanswered(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return " was not answered in time"
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return " failed: " + err.Error()
}

func firstModel(path string, resp *http.Response) (model, why string) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, maxModelList)).Decode(&list); {
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Sprintf("GET %s: HTTP %d", path, resp.StatusCode)
	case err != nil || len(list.Data) == 0 || list.Data[0].ID == "":
		return "", "GET " + path + " lists no model"
	}
	return list.Data[0].ID, "first of GET " + path
}
