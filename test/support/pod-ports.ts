import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type WebSocket from 'ws'
import { WebSocketServer } from 'ws'
import { ApiError, type Status } from './status.ts'

/** A request to `portforward` or `proxy` of an object. */
export interface PodRequest {
  readonly namespace: string
  readonly resource: 'pods' | 'services'
  /** As the path contains it: `web-x`, or `https:web-x:8443` for a proxy. */
  readonly name: string
  readonly subresource: 'portforward' | 'proxy'
  /** Behind a proxy. */
  readonly path: string
}

/** Undefined for any other path. */
export function readPodRequest(url: string): PodRequest | undefined {
  const [, namespace = '', resource, name = '', subresource, path = ''] =
    /^\/api\/v1\/namespaces\/([^/]+)\/(pods|services)\/([^/]+)\/(portforward|proxy)(.*)$/.exec(url) ?? []
  if (resource === undefined || subresource === undefined) return undefined
  return { namespace, name, path, resource, subresource } as PodRequest
}

/** The ports of pods and Services, which are ports of this machine. */
export class PodPorts {
  readonly #ports = new Map<string, number>()
  readonly #sockets = new Set<WebSocket>()
  #onRefused: (socket: Duplex) => void = () => {}
  readonly #upgrades = new WebSocketServer({ noServer: true })

  /** Makes a port of an object lead to a port of this machine. */
  listen({ namespace = 'default', name }: { namespace?: string; name: string }, port: number, localPort: number): void {
    this.#ports.set(`${namespace}/${name}:${port}`, localPort)
  }

  /** Ends all forwarded connections without a closing handshake, as a restarted API server does. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  /** Resolves when the connection of the next refused upgrade is closed. */
  untilRefusedIsClosed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRefused = (socket) => socket.once('close', () => resolve())
    })
  }

  /** Answers an upgrade with an error. The connection stays open for further requests, as that of the real server. */
  refuse(socket: Duplex, status: Status): void {
    this.#onRefused(socket)
    socket.resume().once('end', () => socket.end())
    const body = JSON.stringify(status)
    const head = [`HTTP/1.1 ${status.code} ${status.reason}`, 'Content-Type: application/json']
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  /**
   * Forwards a port as the kubelet (kubelet `pkg/cri/streaming/portforward/websocket.go`): a channel for data and one for
   * the error, which both begin with the port; a closing handshake at the end of the pod's connection.
   */
  forward(request: IncomingMessage, socket: Duplex, head: Buffer, { namespace, name }: PodRequest): void {
    const port = Number(new URL(request.url ?? '', 'http://server').searchParams.get('ports'))
    this.#upgrades.handleUpgrade(request, socket, head, (client) => {
      this.#sockets.add(client)
      const send = (channel: number, content: Buffer) => client.send(Buffer.concat([Buffer.of(channel), content]))
      const portBytes = Buffer.of(port & 0xff, port >> 8)
      send(0, portBytes)
      send(1, portBytes)
      const pod = connect(this.#ports.get(`${namespace}/${name}:${port}`) ?? closedPort, '127.0.0.1')
      client.on('message', (message) => pod.write(message.subarray(1)))
      client.on('close', () => {
        this.#sockets.delete(client)
        pod.destroy()
      })
      client.on('error', () => pod.destroy())
      pod.on('data', (content: Buffer) => send(0, content))
      pod.on('error', () => {
        const cause = `failed to connect to localhost:${port} inside namespace "0123", IPv4: dial tcp4 127.0.0.1:${port}: connect: connection refused`
        send(1, Buffer.from(`error forwarding port ${port} to pod 0123, uid : ${cause}`))
      })
      pod.on('close', () => client.close())
    })
  }

  /** Passes a request on (apimachinery `util/proxy/upgradeaware.go`, `transport.go`), without the credentials of the caller. */
  proxy(request: IncomingMessage, response: ServerResponse, { namespace, name, path }: PodRequest): void {
    const localPort = this.#ports.get(`${namespace}/${name}`) ?? closedPort
    const { authorization: _, ...headers } = request.headers
    const passed = httpRequest(
      { port: localPort, host: '127.0.0.1', path, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(response)
      },
    )
    passed.on('error', ({ message }) => {
      const { status } = new ApiError(
        503,
        `error trying to reach service: ${message.replace('ECONNREFUSED', 'connection refused')}`,
      )
      response.writeHead(status.code, { 'Content-Type': 'application/json' }).end(JSON.stringify(status))
    })
    request.pipe(passed)
  }
}

/** Nothing listens there. */
const closedPort = 1
