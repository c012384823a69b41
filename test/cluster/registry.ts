import type { Api } from './api.ts'
import { until } from './command.ts'
import { registryAddress, registryImage } from './images.ts'
import { simulatedLabel } from './simulated-node.ts'

const namespace = 'rollout-gate-registry'

/**
 * Runs the failing registry (`registry/main.go`) on the loopback address of every node, which the container runtime pulls
 * from. This works in any cluster whose nodes have the images.
 */
export async function ensureRegistry(api: Api): Promise<void> {
  const daemonSet = `/apis/apps/v1/namespaces/${namespace}/daemonsets/registry`
  const [host, port] = registryAddress.split(':')
  await api.apply(`/api/v1/namespaces/${namespace}`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  await api.apply(daemonSet, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'registry' },
    spec: {
      selector: { matchLabels: { app: 'registry' } },
      template: {
        metadata: { labels: { app: 'registry' } },
        spec: {
          hostNetwork: true,
          terminationGracePeriodSeconds: 0,
          tolerations: [{ operator: 'Exists' }],
          // Simulated nodes have no kubelet.
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: simulatedLabel, operator: 'DoesNotExist' }] }],
              },
            },
          },
          containers: [
            {
              name: 'registry',
              image: registryImage,
              imagePullPolicy: 'Never',
              readinessProbe: { httpGet: { host, port: Number(port), path: '/v2/' }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  })
  await until(
    `the failing registry answers on ${registryAddress} (its image has to be on every node)`,
    60,
    async () => {
      const { status, metadata } = await api.get(daemonSet)
      return (
        status.observedGeneration === metadata.generation &&
        status.desiredNumberScheduled > 0 &&
        status.numberReady === status.desiredNumberScheduled
      )
    },
  )
}
