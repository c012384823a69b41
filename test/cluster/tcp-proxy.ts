import { connect, createServer, type Server, type Socket } from 'node:net'

/** How fast a slow connection is, in each direction. */
export interface Throttle {
  /** How much later than it was sent a piece arrives, in milliseconds. */
  latencyMs: number
  /** The largest piece, in bytes. */
  pieceBytes: number
  /** The pause between two pieces, in milliseconds. */
  pauseMs?: number
}

/** What happens to a new connection, besides `refuse`, where nothing listens. */
type Mode = 'forward' | 'half-open' | 'reset'

/** Below the range that Linux takes ports for outgoing connections from, so that `refuse` cannot lose the port. */
const lowestPort = 20_000
const ports = 10_000

/**
 * A TCP proxy on 127.0.0.1 whose connections a test disturbs. It forwards bytes and reads none of them, so TLS passes
 * through: the server's certificate has to be valid for 127.0.0.1.
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

  /** Starts to forward connections to a server. Rejects when no port is free. */
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

  /** The port that clients connect to, the same through all modes. */
  get port(): number {
    return this.listeningPort
  }

  /** How many connections clients have opened and nobody has closed. */
  get connections(): number {
    return this.links.size
  }

  /** New connections are forwarded, at full speed. Established ones are as they are: what was half-open stays so. */
  async forward(): Promise<void> {
    this.mode = 'forward'
    this.throttle = undefined
    if (this.server === undefined && !this.isClosed) await this.listen()
  }

  /** From now on all connections, established and new, carry nothing, and nobody closes them. */
  halfOpen(): void {
    this.mode = 'half-open'
    this.silence()
  }

  /** Established connections carry nothing any more, as after a NAT gateway forgot them. New ones follow the present mode. */
  silence(): void {
    for (const link of this.links) link.silence()
  }

  /** Closes the established connections. New ones follow the present mode. */
  cut(): void {
    for (const link of this.links) link.close()
  }

  /** All connections, established and new, are answered with a TCP reset. */
  reset(): void {
    this.mode = 'reset'
    for (const link of this.links) link.reset()
  }

  /** Connections, established and new, are forwarded late and in small pieces. */
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

  /** Ends the proxy with all its connections, for good. */
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
    client.on('error', () => {}) // `close` follows
    if (this.mode === 'reset') {
      client.resetAndDestroy()
      return
    }
    const link = new Link(client, this.mode === 'forward' ? this.target : undefined, () => this.throttle)
    this.links.add(link)
    client.once('close', () => this.links.delete(link))
  }
}

/** One connection of a client, and its continuation to the server. */
class Link {
  private readonly client: Socket
  private readonly upstream: Socket | undefined
  private readonly directions: Direction[]
  private isSilent = false

  /** @param target where it leads; without, it carries nothing from the beginning */
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

/** What one side of a connection sends to the other. */
class Direction {
  private readonly to: Socket
  private readonly throttle: () => Throttle | undefined
  /** What has yet to be forwarded, and when; without data it is the end. */
  private readonly queue: { data?: Buffer; dueAt: number }[] = []
  private timer: NodeJS.Timeout | undefined
  private isSilent = false

  constructor(from: Socket, to: Socket, throttle: () => Throttle | undefined) {
    this.to = to
    this.throttle = throttle
    from.on('data', (data: Buffer) => this.take(data))
    from.once('end', () => this.enqueue(Date.now() + (throttle()?.latencyMs ?? 0)))
    to.once('close', () => this.silence())
  }

  silence(): void {
    this.isSilent = true
    this.queue.length = 0
    clearTimeout(this.timer)
  }

  private take(data: Buffer): void {
    const { latencyMs, pieceBytes, pauseMs = 0 } = this.throttle() ?? { latencyMs: 0, pieceBytes: data.length }
    for (let start = 0; start < data.length; start += pieceBytes) {
      const earliest = Math.max(Date.now() + latencyMs, (this.queue.at(-1)?.dueAt ?? 0) + pauseMs)
      this.enqueue(earliest, data.subarray(start, start + pieceBytes))
    }
  }

  /** Keeps the order also when the throttle changes meanwhile. */
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
