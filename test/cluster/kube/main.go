// All of Kubernetes in one program: every component of the test cluster is a
// subcommand. One binary is built and cached, since the components share nearly
// all of their code.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 newKubeletCommand,
}

func main() {
	if len(os.Args) < 2 {
		fail("name a component")
	}
	name := os.Args[1]
	// Each component reads its flags from os.Args as if it were the program.
	os.Args = append([]string{name}, os.Args[2:]...)
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	newCommand, known := components[name]
	if !known {
		fail(fmt.Sprintf("unknown component %q", name))
	}
	os.Exit(cli.Run(newCommand()))
}

func fail(problem string) {
	fmt.Fprintf(os.Stderr, "%s\nusage: kube {etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet} [flags]\n", problem)
	os.Exit(2)
}
