import { connect, createServer, type Server, type Socket } from 'node:net'

/** Limits of a slow connection, for each direction. */
export interface Throttle {
  /** Delay of each piece, in milliseconds. */
  latencyMs: number
  /** The largest piece, in bytes. */
  pieceBytes: number
  /** The pause between two pieces, in milliseconds. */
  pauseMs?: number
}

/** Treatment of new connections; after `refuse` nothing listens. */
type Mode = 'forward' | 'half-open' | 'reset'

/** Below the port range of outgoing connections on Linux, so no connection takes the port after `refuse`. */
const lowestPort = 20_000
const ports = 10_000

/**
 * A TCP proxy on 127.0.0.1 that simulates network faults. It forwards bytes without reading them, so TLS works if the
 * server's certificate is valid for 127.0.0.1.
 */
export class TcpProxy {
  private readonly target: { host: string; port: number }
  private readonly links = new Set<Link>()
  private server: Server | undefined
  private mode: Mode = 'forward'
  private throttle: Throttle | undefined
  private listeningPort = 0
  private isClosed = false

  private constructor(target: { host: string; port: number }) {
    this.target = target
  }

  /** Starts forwarding connections to a server. Rejects if no port is free. */
  static async start(target: { host: string; port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    for (let attempt = 0; proxy.server === undefined; attempt++) {
      proxy.listeningPort = lowestPort + Math.floor(Math.random() * ports)
      await proxy.listen().catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE' || attempt > 20) throw error
      })
    }
    return proxy
  }

  /** The port for clients, the same in all modes. */
  get port(): number {
    return this.listeningPort
  }

  /** Number of open connections of clients. */
  get connections(): number {
    return this.links.size
  }

  /** Forwards new connections at full speed. Established connections keep their state: half-open ones stay half-open. */
  async forward(): Promise<void> {
    this.mode = 'forward'
    this.throttle = undefined
    if (this.server === undefined && !this.isClosed) await this.listen()
  }

  /** All connections, established and new, transfer no data and are not closed. */
  halfOpen(): void {
    this.mode = 'half-open'
    this.silence()
  }

  /** Established connections transfer no data, as after a NAT gateway lost its state. New ones follow the present mode. */
  silence(): void {
    for (const link of this.links) link.silence()
  }

  /** Closes the established connections. New ones follow the present mode. */
  cut(): void {
    for (const link of this.links) link.close()
  }

  /** All connections, established and new, get a TCP reset. */
  reset(): void {
    this.mode = 'reset'
    for (const link of this.links) link.reset()
  }

  /** Delays all connections, established and new, and splits their data into small pieces. */
  slow(throttle: Throttle): void {
    this.mode = 'forward'
    this.throttle = throttle
  }

  /** Closes the port and the established connections, like a server that is not running. */
  async refuse(): Promise<void> {
    const { server } = this
    this.server = undefined
    this.cut()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  /** Closes the proxy with all its connections. */
  close(): Promise<void> {
    this.isClosed = true
    return this.refuse()
  }

  private async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.accept(client))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.listeningPort, '127.0.0.1', resolve)
    })
    this.server = server
  }

  private accept(client: Socket): void {
    client.on('error', () => {}) // followed by `close`
    if (this.mode === 'reset') {
      client.resetAndDestroy()
      return
    }
    const link = new Link(client, this.mode === 'forward' ? this.target : undefined, () => this.throttle)
    this.links.add(link)
    client.once('close', () => this.links.delete(link))
  }
}

/** One connection of a client and its connection to the server. */
class Link {
  private readonly client: Socket
  private readonly upstream: Socket | undefined
  private readonly directions: Direction[]
  private isSilent = false

  /** @param target the server; without it the connection transfers no data */
  constructor(
    client: Socket,
    target: { host: string; port: number } | undefined,
    throttle: () => Throttle | undefined,
  ) {
    this.client = client
    this.upstream = target && connect({ ...target, allowHalfOpen: true, noDelay: true })
    if (this.upstream === undefined) {
      this.directions = []
      client.resume()
      return
    }
    const { upstream } = this
    this.directions = [new Direction(client, upstream, throttle), new Direction(upstream, client, throttle)]
    upstream.on('error', () => {})
    upstream.once('close', (hadError) => {
      if (hadError && !this.isSilent) client.destroy()
    })
    client.once('close', () => upstream.destroy())
  }

  silence(): void {
    this.isSilent = true
    for (const direction of this.directions) direction.silence()
  }

  close(): void {
    this.client.destroy()
  }

  reset(): void {
    this.client.resetAndDestroy()
  }
}

/** The data from one side of a connection to the other. */
class Direction {
  private readonly to: Socket
  private readonly throttle: () => Throttle | undefined
  /** Data to forward with its time; an entry without data is the end of the stream. */
  private readonly queue: { data?: Buffer; dueAt: number }[] = []
  private timer: NodeJS.Timeout | undefined
  private isSilent = false

  constructor(from: Socket, to: Socket, throttle: () => Throttle | undefined) {
    this.to = to
    this.throttle = throttle
    from.on('data', (data: Buffer) => this.split(data))
    from.once('end', () => this.enqueue(Date.now() + (throttle()?.latencyMs ?? 0)))
    to.once('close', () => this.silence())
  }

  silence(): void {
    this.isSilent = true
    this.queue.length = 0
    clearTimeout(this.timer)
  }

  private split(data: Buffer): void {
    const { latencyMs, pieceBytes, pauseMs = 0 } = this.throttle() ?? { latencyMs: 0, pieceBytes: data.length }
    for (let start = 0; start < data.length; start += pieceBytes) {
      const earliest = Math.max(Date.now() + latencyMs, (this.queue.at(-1)?.dueAt ?? 0) + pauseMs)
      this.enqueue(earliest, data.subarray(start, start + pieceBytes))
    }
  }

  /** Keeps the order even if the throttle changes. */
  private enqueue(earliest: number, data?: Buffer): void {
    if (this.isSilent) return
    const dueAt = Math.max(earliest, this.queue.at(-1)?.dueAt ?? 0)
    this.queue.push({ dueAt, ...(data && { data }) })
    if (this.queue.length === 1) this.sendDue()
  }

  private sendDue(): void {
    for (let [next] = this.queue; next !== undefined; [next] = this.queue) {
      const waitMs = next.dueAt - Date.now()
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.sendDue(), waitMs)
        return
      }
      this.queue.shift()
      if (next.data === undefined) this.to.end()
      else this.to.write(next.data)
    }
  }
}
