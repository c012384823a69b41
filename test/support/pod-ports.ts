import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type WebSocket from 'ws'
import { WebSocketServer } from 'ws'
import type { Status } from './status.ts'

/** The pod whose port a request forwards; undefined for any other path. */
export function forwardedPod(url: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward\b/.exec(url) ?? []
  return namespace === undefined || name === undefined ? undefined : { namespace, name }
}

/** The ports of pods, which are ports of this machine. */
export class PodPorts {
  readonly #ports = new Map<string, number>()
  readonly #sockets = new Set<WebSocket>()
  #onRefused: (socket: Duplex) => void = () => {}
  readonly #upgrades = new WebSocketServer({ noServer: true })

  /** Makes a port of a pod lead to a port of this machine. */
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
  forward(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { namespace, name } = forwardedPod(request.url ?? '') ?? {}
    const port = Number(new URL(request.url ?? '', 'http://server').searchParams.get('ports'))
    this.#upgrades.handleUpgrade(request, socket, head, (client) => {
      this.#sockets.add(client)
      const send = (channel: number, content: Buffer) => client.send(Buffer.concat([Buffer.of(channel), content]))
      const portBytes = Buffer.of(port & 0xff, port >> 8)
      send(0, portBytes)
      send(1, portBytes)
      const pod = connect(this.#ports.get(`${namespace}/${name}:${port}`) ?? closedPort, '127.0.0.1')
      client.on('message', (message) => pod.write((message as Buffer).subarray(1)))
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
}

/** Nothing listens there. */
const closedPort = 1
