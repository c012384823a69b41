// kubectl of the release that the tests' cluster runs, for machines that have
// none: workflows that the tests run call it as people's workflows do.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
