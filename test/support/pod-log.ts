import type { ServerResponse } from 'node:http'
import type { Pod } from '../../src/cluster/objects.ts'
import type { Cluster } from './cluster.ts'
import { type LogRef, logOptions } from './logs.ts'
import { ApiError } from './status.ts'

/** Answers `pods/NAME/log`, and goes on as the log grows when it is to be followed. */
export function streamLog(cluster: Cluster, pod: Pod, query: URLSearchParams, response: ServerResponse): void {
  const options = logOptions(query, cluster.now())
  const ref: LogRef = {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name,
    container: chosenContainer(pod, query.get('container') ?? ''),
    previous: query.get('previous') === 'true',
  }
  if (!cluster.logs.has(ref)) checkHasRun(pod, ref)

  const stream = cluster.openStream(response, 'text/plain')
  stream.write(cluster.logs.read(ref, options))
  if (query.get('follow') !== 'true') {
    stream.end()
    return
  }
  const leave = cluster.logs.follow(ref, {
    onText: (text) => stream.write(text),
    onEnd: () => stream.end(),
    timestamps: options.timestamps,
  })
  stream.onClose(leave)
}

/** The container that a log request means (kubernetes `pkg/registry/core/pod/strategy.go`, LogLocation). */
function chosenContainer({ metadata: { name }, spec }: Pod, asked: string): string {
  const containers = (spec?.containers ?? []).map((container) => container.name)
  const initContainers = (spec?.initContainers ?? []).map((container) => container.name)
  if (asked !== '') {
    if ([...containers, ...initContainers].includes(asked)) return asked
    throw new ApiError(400, `container ${asked} is not valid for pod ${name}`)
  }
  const [only, ...others] = containers
  if (only !== undefined && others.length === 0) return only
  const inits = initContainers.length > 0 ? ` or one of the init containers: [${initContainers.join(' ')}]` : ''
  throw new ApiError(
    400,
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${inits}`,
  )
}

/** A container of which no log is known has an empty one, unless its status says that it never ran (kubelet `kubelet_pods.go`). */
function checkHasRun({ status }: Pod, { container, pod, previous }: LogRef): void {
  const containers = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const { state, lastState } = containers.find(({ name }) => name === container) ?? {}
  if (lastState?.terminated) return
  if (previous) throw new ApiError(400, `previous terminated container "${container}" in pod "${pod}" not found`)
  if (state?.waiting) {
    throw new ApiError(
      400,
      `container "${container}" in pod "${pod}" is waiting to start: ${state.waiting.reason ?? ''}`,
    )
  }
}
