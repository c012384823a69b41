module rollout-gate/test/cluster/web

go 1.24
