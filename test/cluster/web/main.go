// The web server of the tests. Its version is the environment variable VERSION, the tag of the image.
//
//	/          the answer that the flags select
//	/ready     always 200, for readiness probes
//	/headers   the headers of the request
//	/metrics   the requests to / by status, in the format of Prometheus
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var (
	listen     = flag.String("listen", ":8080", "the address")
	status     = flag.Int("status", http.StatusOK, "the status of the answer")
	slow       = flag.Duration("slow", 0, "the delay of each answer")
	redirect   = flag.String("redirect", "", "the address of a redirect")
	useTLS     = flag.Bool("tls", false, "serve HTTPS with a certificate that nobody trusts")
	breaks     = flag.Int("breaks-after", 0, "answer 500 after so many answers")
	dies       = flag.Int("dies-after", 0, "exit with code 1 after so many answers")
	ignoreTerm = flag.Bool("ignore-term", false, "ignore SIGTERM")
	drain      = flag.Duration("drain", 0, "after SIGTERM, go on answering for so long")
	rate       = flag.Float64("rate", 0, "the requests a second of the traffic that /metrics shows")
	errorShare = flag.Float64("error-share", 0, "the share of errors in that traffic")
	errorsFrom = flag.Duration("errors-from", 0, "the time from which that traffic has errors, since the start")
)

type counter struct {
	sync.Mutex
	byStatus map[int]int
	total    int
}

func (c *counter) add(status int) int {
	c.Lock()
	defer c.Unlock()
	c.byStatus[status]++
	c.total++
	return c.total
}

var answers = counter{byStatus: map[int]int{}}
var startedAt = time.Now()

func main() {
	flag.Parse()
	http.HandleFunc("/", answer)
	http.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ready") })
	http.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Host:", r.Host)
		r.Header.Write(w)
	})
	http.HandleFunc("/metrics", metrics)
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if *useTLS {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{selfSigned()}})
	}
	go func() { log.Fatal(http.Serve(listener, nil)) }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	for range signals {
		if *ignoreTerm {
			log.Print("SIGTERM is ignored")
			continue
		}
		time.Sleep(*drain)
		os.Exit(0)
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	time.Sleep(*slow)
	code := *status
	if *redirect != "" {
		code = http.StatusFound
		w.Header().Set("Location", *redirect)
	}
	answered := answers.add(code)
	if *breaks > 0 && answered > *breaks {
		code = http.StatusInternalServerError
	}
	w.WriteHeader(code)
	fmt.Fprintln(w, os.Getenv("VERSION"))
	if *dies > 0 && answered >= *dies {
		go func() {
			time.Sleep(100 * time.Millisecond)
			log.Print("this was the last answer")
			os.Exit(1)
		}()
	}
}

func metrics(w http.ResponseWriter, r *http.Request) {
	answers.Lock()
	defer answers.Unlock()
	uptime := time.Since(startedAt)
	errors := *rate * *errorShare * max(0, uptime-*errorsFrom).Seconds()
	counts := map[int]float64{http.StatusOK: *rate*uptime.Seconds() - errors, http.StatusInternalServerError: errors}
	for code, count := range answers.byStatus {
		counts[code] += float64(count)
	}
	fmt.Fprintln(w, "# TYPE http_requests_total counter")
	for code, count := range counts {
		fmt.Fprintf(w, "http_requests_total{code=\"%d\"} %g\n", code, count)
	}
}

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}
}
