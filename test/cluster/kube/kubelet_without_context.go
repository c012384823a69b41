//go:build kubelet_without_context

package main

import (
	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Until Kubernetes 1.33.
func newKubeletCommand() *cobra.Command { return kubelet.NewKubeletCommand() }
