// The web server of the tests. Its version is the environment variable VERSION, the tag of the image.
//
//	/          the answer that the flags select
//	/ready     always 200, for readiness probes
//	/headers   the headers of the request
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
	"sync/atomic"
	"syscall"
	"time"
)

var (
	listen     = flag.String("listen", ":8080", "the address")
	status     = flag.Int("status", http.StatusOK, "the status of the answer")
	slow       = flag.Duration("slow", 0, "the delay of each answer")
	redirect   = flag.String("redirect", "", "the address of a redirect")
	useTLS     = flag.Bool("tls", false, "serve HTTPS with a certificate that nobody trusts")
	breaks     = flag.Int64("breaks-after", 0, "answer 500 after so many answers")
	dies       = flag.Int64("dies-after", 0, "exit with code 1 after so many answers")
	ignoreTerm = flag.Bool("ignore-term", false, "ignore SIGTERM")
	drain      = flag.Duration("drain", 0, "after SIGTERM, go on answering for so long")
)

var answers atomic.Int64

func main() {
	flag.Parse()
	http.HandleFunc("/", answer)
	http.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ready") })
	http.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Host:", r.Host)
		r.Header.Write(w)
	})
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
	answered := answers.Add(1)
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
