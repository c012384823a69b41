// A container registry that fails on request: pulls fail as with real registries,
// and no traffic leaves the machine. The first segment of an image's name selects
// the failure:
//
//	status-429/app   every manifest is answered with that HTTP status
//	denied/app       returns an anonymous token, then refuses it (a private image)
//	slow-10s/app     the image of the tests, delayed by 10 s each time
//
// Every other name: 404.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

// image contains the files of the image that a slow pull returns.
type image struct {
	manifest, config, layer []byte
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: registry ADDRESS CONFIG_FILE LAYER_FILE")
	}
	address := os.Args[1]
	served := image{config: mustRead(os.Args[2]), layer: mustRead(os.Args[3])}
	served.manifest = manifestOf(served)

	http.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"token":"anonymous"}`)
	})
	http.HandleFunc("/v2/", func(w http.ResponseWriter, r *http.Request) {
		log.Print(r.Method, " ", r.URL.Path)
		answer(w, r, address, served)
	})
	log.Fatal(http.ListenAndServe(address, nil))
}

func answer(w http.ResponseWriter, r *http.Request, address string, served image) {
	repository, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
	mode, argument, _ := strings.Cut(repository, "-")
	switch {
	case repository == "":
		w.WriteHeader(http.StatusOK)
	case mode == "status":
		status, err := strconv.Atoi(argument)
		if err != nil || status < 400 || status > 599 {
			status = http.StatusBadRequest
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
		}
		refuse(w, status)
	case mode == "denied":
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer realm="http://%s/token",service="tests",scope="repository:denied/app:pull",error="insufficient_scope"`, address))
		refuse(w, http.StatusUnauthorized)
	case mode == "slow":
		delay, err := time.ParseDuration(argument)
		if err != nil {
			refuse(w, http.StatusBadRequest)
			return
		}
		// Every pull starts with HEAD, even if the node has layers of the image.
		if r.Method == http.MethodHead {
			time.Sleep(delay)
		}
		serve(w, object, served)
	default:
		refuse(w, http.StatusNotFound)
	}
}

// serve returns the manifest, the config or the layer, for any repository name.
func serve(w http.ResponseWriter, object string, served image) {
	requestedDigest := object[strings.LastIndex(object, "/")+1:]
	switch {
	case strings.Contains(object, "manifests/"):
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", digest(served.manifest))
		w.Header().Set("Content-Length", strconv.Itoa(len(served.manifest)))
		w.Write(served.manifest)
	case requestedDigest == digest(served.config):
		w.Write(served.config)
	case requestedDigest == digest(served.layer):
		w.Write(served.layer)
	default:
		refuse(w, http.StatusNotFound)
	}
}

var codes = map[int]string{
	http.StatusUnauthorized:    "UNAUTHORIZED",
	http.StatusForbidden:       "DENIED",
	http.StatusNotFound:        "MANIFEST_UNKNOWN",
	http.StatusTooManyRequests: "TOOMANYREQUESTS",
}

func refuse(w http.ResponseWriter, status int) {
	code := codes[status]
	if code == "" {
		code = "UNKNOWN"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{
		"errors": []map[string]string{{"code": code, "message": strings.ToLower(http.StatusText(status))}},
	})
}

func manifestOf(served image) []byte {
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        descriptor("application/vnd.docker.container.image.v1+json", served.config),
		"layers":        []any{descriptor("application/vnd.docker.image.rootfs.diff.tar", served.layer)},
	})
	if err != nil {
		log.Fatal(err)
	}
	return manifest
}

func descriptor(mediaType string, content []byte) map[string]any {
	return map[string]any{"mediaType": mediaType, "size": len(content), "digest": digest(content)}
}

func digest(content []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

func mustRead(path string) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return content
}
