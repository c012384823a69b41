// The application controller and the repo-server of Argo CD in one process, with a Redis in memory between them. The arguments
// are those of the application controller.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/askpass"
)

const address = "127.0.0.1:5994"

func main() {
	redis, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	// The cluster of the controller is that of KUBECONFIG. Commits are not signed.
	os.Setenv("ARGOCD_FAKE_IN_CLUSTER", "true")
	os.Setenv("ARGOCD_GPG_ENABLED", "false")
	askpass.SocketPath = filepath.Join(os.TempDir(), "askpass.sock")

	server := reposerver.NewCommand()
	server.SetArgs([]string{
		"--address=127.0.0.1", "--port=5994", "--disable-tls",
		"--metrics-address=127.0.0.1", "--metrics-port=5993", "--redis=" + redis.Addr(),
	})
	go func() { log.Fatal(server.Execute()) }()

	command := controller.NewCommand()
	command.SetArgs(append([]string{
		"--repo-server=" + address, "--repo-server-plaintext", "--metrics-port=5992", "--redis=" + redis.Addr(),
	}, os.Args[1:]...))
	if err := command.Execute(); err != nil {
		log.Fatal(err)
	}
}
