package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"weir/client"
)

// Ask a model through a gateway and get the whole answer, over broken
// connections.
func ExampleDo() {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://127.0.0.1:8080/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for event, err := range client.Do(req, client.Options{}) {
		if err != nil {
			log.Fatal(err) // errors.Is(err, client.ErrGap): the events before it were all there
		}
		fmt.Printf("%s\n", event.Data)
	}
}

// Follow a stream that another program began, and give up connections that
// bring not even a heartbeat for a minute.
func ExampleFollow() {
	o := client.Options{Silence: time.Minute, Header: http.Header{"Authorization": {"Bearer the-same-key"}}}
	for event, err := range client.Follow(context.Background(), "http://127.0.0.1:8080/weir/streams/STREAM-ID", o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.ID, event.Name, len(event.Data))
	}
}
