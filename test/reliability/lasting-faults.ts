import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createGzip } from 'node:zlib'
import type { ApiServer } from '../support/api-server.ts'
import type { EventLoopClock } from '../support/event-loop-clock.ts'
import type { ReceivedRequest } from '../support/failures.ts'
import { ApiError } from '../support/status.ts'
import { resetConnection } from '../support/stream.ts'

/** Changes the answer to a request. `answered`: no other fault, nor the server, answers it. */
type RequestFault = (
  request: ReceivedRequest,
  response: ServerResponse,
) => 'answered' | 'answer' | Promise<'answered' | 'answer'>

/** A fault that lasts: it begins with the call, and the returned function ends it. */
export type LastingFault = (network: Network) => () => void

/** The network between the client and the server: lasting faults begin and end at moments of the test's clock. */
export class Network {
  readonly server: ApiServer
  readonly clock: EventLoopClock
  /** How long the machine of the client was suspended without counting the time. */
  uncountedMs = 0
  readonly #faults = new Set<RequestFault>()
  readonly #streams = new Set<HeldStream>()
  #outages = 0

  constructor(server: ApiServer, clock: EventLoopClock) {
    this.server = server
    this.clock = clock
    server.intercept(async (request, response) => {
      if (isWatch(request)) this.#track(response)
      for (const fault of [...this.#faults]) if ((await fault(request, response)) === 'answered') return 'answered'
      return response.destroyed ? 'answered' : 'answer'
    })
  }

  after = (ms: number): Promise<void> => new Promise((resolve) => void this.clock.after(ms, resolve))

  /** Applies a fault to each request from now on; the returned function ends it. */
  toRequests(fault: RequestFault): () => void {
    this.#faults.add(fault)
    return () => this.#faults.delete(fault)
  }

  /** The open watches send nothing from now on. */
  holdWatches(): readonly HeldStream[] {
    const held = [...this.#streams]
    for (const stream of held) stream.hold()
    return held
  }

  /** Makes an outage; two at the same time end with the later one. */
  outage(on: () => void, off: () => void): () => void {
    this.#outages += 1
    on()
    return () => {
      this.#outages -= 1
      if (this.#outages === 0) off()
    }
  }

  #track(response: ServerResponse): void {
    const stream = new HeldStream(response)
    this.#streams.add(stream)
    response.once('close', () => this.#streams.delete(stream))
  }
}

/** A response that can be held back. */
class HeldStream {
  #held: (() => void)[] | undefined
  constructor(response: ServerResponse) {
    const write = response.write.bind(response) as (chunk: unknown) => boolean
    const end = response.end.bind(response) as (chunk?: unknown) => ServerResponse
    const later = (work: () => void) => {
      if (this.#held === undefined) work()
      else this.#held.push(work)
    }
    response.write = (chunk: unknown) => {
      later(() => response.writableEnded || write(chunk))
      return true
    }
    response.end = ((chunk?: unknown) => {
      later(() => end(chunk))
      return response
    }) as typeof response.end
  }

  hold(): void {
    this.#held ??= []
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const work of held) work()
  }
}

const isWatch = ({ query }: ReceivedRequest) => query.has('watch')
const isList = ({ path, query }: ReceivedRequest) =>
  !query.has('watch') && /\/[a-z]+$/.test(path) && path.split('/').length > 4

const statusFault =
  (every: number, codes: readonly number[], headers: Readonly<Record<string, string>> = {}) =>
  (network: Network): (() => void) => {
    // A plain series of numbers would always hit the same request of a repeated sequence.
    let random = 1
    return network.toRequests((_, response) => {
      random = (random * 48_271) % 2_147_483_647
      if (random % every !== 0) return 'answer'
      const code = codes[(random >> 8) % codes.length] ?? 500
      response.writeHead(code, { 'Content-Type': 'application/json', ...headers })
      response.end(JSON.stringify(new ApiError(code).status))
      return 'answered'
    })
  }

const page =
  (code: number, body: string) =>
  (network: Network): (() => void) =>
    network.toRequests((_, response) => {
      response.writeHead(code, { 'Content-Type': 'text/html' }).end(body)
      return 'answered'
    })

const denied =
  (resources: readonly string[]) =>
  ({ server }: Network): (() => void) => {
    for (const each of resources) {
      const [resource = '', group = ''] = each.split('.')
      server.deny({ verb: '*', group, resource })
    }
    server.cutWatches()
    return () => server.allowAll()
  }

const compress: RequestFault = (request, response) => {
  if (!isWatch(request)) return 'answer'
  const gzip = createGzip()
  const write = response.write.bind(response) as (chunk: unknown) => boolean
  const end = response.end.bind(response) as () => ServerResponse
  const writeHead = response.writeHead.bind(response) as (code: number, headers: object) => ServerResponse
  gzip.on('data', (chunk) => write(chunk)).on('end', () => end())
  response.writeHead = ((code: number, headers: object) =>
    writeHead(code, { ...headers, 'Content-Encoding': 'gzip' })) as unknown as typeof response.writeHead
  response.write = (chunk: unknown) => {
    if (gzip.writableEnded) return true
    gzip.write(chunk)
    gzip.flush()
    return true
  }
  response.end = ((chunk?: unknown) => {
    gzip.end(chunk)
    return response
  }) as typeof response.end
  return 'answer'
}

/** Ends each watch some time after its request, while the fault lasts. */
function watchFault(afterMs: number, end: (response: ServerResponse) => void): LastingFault {
  return (network) => {
    let isActive = true
    const stop = network.toRequests((request, response) => {
      if (isWatch(request))
        void network.after(afterMs).then(() => {
          if (isActive) end(response)
        })
      return 'answer'
    })
    return () => {
      isActive = false
      stop()
    }
  }
}

const afterCut =
  (begin: LastingFault): LastingFault =>
  (network) => {
    network.server.cutWatches()
    return begin(network)
  }

/** The fault that withdraws access to the targets, whose outcome may then be unknown. */
export const withdrawal = 'Workloads may not be read.'

/** The faults of bad networks that last for a while. */
export const lastingFaults: Readonly<Record<string, LastingFault>> = {
  'A proxy cuts each watch after 5 s.': watchFault(5_000, (response) => resetConnection(response.socket)),
  'A proxy ends each watch after 1 s.': watchFault(1_000, (response) => {
    if (!response.writableEnded && response.headersSent) response.end()
  }),
  'Every third request gets 429.': statusFault(3, [429], { 'Retry-After': '1' }),
  'Every other request gets 500, 503 or 504.': statusFault(2, [500, 503, 504]),
  'All requests get 429.': statusFault(1, [429], { 'Retry-After': '2' }),
  'All requests get 500.': statusFault(1, [500]),
  'All new requests get a page with 404.': page(404, 'default backend - 404'),
  'All new requests get a page with 200.': page(200, '<html>Sign in</html>'),
  'All requests get a page with 404, and watches are cut.': afterCut(page(404, 'default backend - 404')),
  'All requests get a page with 200, and watches are cut.': afterCut(page(200, '<html>Sign in</html>')),
  'All requests get a page with 503, and watches are cut.': afterCut(page(503, '<html>no backend</html>')),
  'A proxy compresses watches.': (network) => network.toRequests(compress),
  'Nothing is carried.': (network) =>
    network.outage(
      () => network.server.hang(true),
      () => network.server.hang(false),
    ),
  'Nothing is carried, then connections are cut.': (network) =>
    network.outage(
      () => network.server.hang(true),
      () => {
        network.server.cutWatches()
        network.server.hang(false)
      },
    ),
  'Connections are refused.': ({ server }) => {
    let isEnded = false
    void server.stop()
    return () => {
      if (isEnded) return
      isEnded = true
      void server.start().catch(() => {})
    }
  },
  'Every connection is reset.': afterCut((network) =>
    network.toRequests((_, response) => {
      resetConnection(response.socket)
      return 'answered'
    }),
  ),
  'Open watches send nothing any more; new ones work.': (network) => {
    network.holdWatches()
    return () => {}
  },
  'Open watches send nothing for a while.': (network) => {
    const held = network.holdWatches()
    return () => {
      for (const stream of held) stream.release()
    }
  },
  'A proxy holds back the events of all watches.': (network) => {
    network.holdWatches()
    return network.toRequests((request, response) => {
      if (!isWatch(request)) return 'answer'
      const held = new HeldStream(response)
      held.hold()
      return 'answer'
    })
  },
  // Its lists are as new as those of the other one: without a resource version, the API server reads from etcd's quorum.
  'The watches of one of two replicas are late.': (network) => {
    const held: HeldStream[] = []
    let count = 0
    const end = network.toRequests((request, response) => {
      count += 1
      if (count % 2 === 0 || !isWatch(request)) return 'answer'
      const stream = new HeldStream(response)
      stream.hold()
      held.push(stream)
      return 'answer'
    })
    return () => {
      end()
      for (const stream of held) stream.release()
    }
  },
  'All resource versions have expired.': ({ server }) => {
    server.compact()
    server.cutWatches()
    return () => {}
  },
  'All resource versions have expired, as a status.': ({ server }) => {
    server.compact({ as: 'status' })
    server.endWatches()
    return () => {}
  },
  'The machine sleeps for 3 min that its clock does not count.': (network) => {
    network.uncountedMs += 180_000
    network.holdWatches()
    return () => {}
  },
  'Pods may not be read.': denied(['pods']),
  'Events may not be read.': denied(['events']),
  'ReplicaSets may not be read.': denied(['replicasets.apps']),
  [withdrawal]: denied(['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch', 'services']),
  'Lists come slowly.': (network) =>
    network.toRequests((request, response) => {
      if (!isList(request)) return 'answer'
      const write = response.write.bind(response) as (chunk: unknown) => boolean
      const end = response.end.bind(response) as (chunk?: unknown) => ServerResponse
      response.end = ((chunk?: unknown) => {
        const bytes = Buffer.from((chunk as Buffer | undefined) ?? '')
        const size = Math.ceil(bytes.length / 20)
        void (async () => {
          for (let start = 0; start < bytes.length; start += size) {
            write(bytes.subarray(start, start + size))
            await network.after(400)
          }
          end()
        })()
        return response
      }) as typeof response.end
      return 'answer'
    }),
  'Each event is repeated after the next one.': (network) =>
    network.toRequests((request, response) => {
      if (!isWatch(request)) return 'answer'
      const write = response.write.bind(response) as (chunk: unknown) => boolean
      let last: unknown
      response.write = (chunk: unknown) => {
        const text = String(chunk)
        const isEvent = /^\{"type":"(ADDED|MODIFIED|DELETED)/.test(text)
        const sent = write(isEvent && last !== undefined ? `${text}${last as string}` : text)
        if (isEvent) last = text
        return sent
      }
      return 'answer'
    }),
  'Connections are closed when they are used again.': (network) => {
    const used = new WeakSet<Socket>()
    return network.toRequests((_, response) => {
      const { socket } = response
      if (socket === null) return 'answered'
      if (used.has(socket)) {
        resetConnection(socket)
        return 'answered'
      }
      used.add(socket)
      return 'answer'
    })
  },
  'Pages expire before the next one is read.': (network) =>
    network.toRequests((request) => {
      if (request.query.has('limit')) request.query.set('limit', '1')
      if (request.query.has('continue')) network.server.compact()
      return 'answer'
    }),
  'Every answer takes 3 s.': (network) =>
    network.toRequests(async (): Promise<'answer'> => {
      await network.after(3_000)
      return 'answer'
    }),
  'The clock of the server is 10 min ahead.': (network) =>
    network.toRequests((_, response) => {
      response.setHeader('Date', new Date(network.server.now().getTime() + 600_000).toUTCString())
      return 'answer'
    }),
  'The server is restored from a backup.': ({ server }) => {
    void server.restoreBackup()
    return () => {}
  },
}
