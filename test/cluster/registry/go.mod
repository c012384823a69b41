module rollout-gate/test/cluster/registry

go 1.24
