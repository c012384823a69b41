import type { RequestOptions } from 'node:https'
import { Duplex } from 'node:stream'
import WebSocket from 'ws'
import { maxMessageBytes } from '../thresholds.ts'
import { type Client, readApiError } from './client.ts'
import { ConnectionError } from './failures.ts'

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/**
 * The kubelet's protocol for WebSockets (kubelet `pkg/cri/streaming/portforward/websocket.go`). A message begins with the
 * number of its channel: 0 has the data of the connection, 1 the error that ends it. The first message of each channel
 * contains the port.
 */
const protocol = 'v4.channel.k8s.io'
const dataChannel = 0
const errorChannel = 1
/** The code for an end without a closing handshake (RFC 6455, 7.1.5). The kubelet closes with a handshake. */
const brokenConnection = 1006

/**
 * Opens a connection to a port of a pod through the API server. The kubelet connects to `localhost` in the pod.
 * Rejects if the API server refuses it or is unavailable, as `Client` does. If the pod refuses the connection, the stream
 * fails with the message of the kubelet.
 */
export function forwardPort(client: Client, { namespace, pod, port }: PodPort, signal: AbortSignal): Promise<Duplex> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward?ports=${port}`
  return client.withCredentials(path, { accept: '*/*', signal }, openWebSocket)
}

function openWebSocket(url: URL, request: RequestOptions, signal: AbortSignal): Promise<Duplex> {
  const socket = new WebSocket(url, protocol, { ...request, perMessageDeflate: false, maxPayload: maxMessageBytes })
  // The first messages may come with the event `open`.
  const connection = new PodConnection(socket)
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const abort = () => {
    reject(signal.reason)
    connection.destroy()
  }
  socket.once('open', () => resolve(connection))
  socket.once('error', reject)
  socket.once('unexpected-response', (_, response) => {
    // The connection of this response belongs to no agent, so it must be closed here.
    const { socket: refused } = response
    void readApiError(response).then((error) => {
      reject(error)
      refused.destroy()
    })
  })
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  return promise.finally(() => signal.removeEventListener('abort', abort))
}

/**
 * The bytes of a forwarded connection. It ends with the WebSocket: the protocol cannot close one direction. An error is
 * emitted at the first read or later, when it has a listener.
 */
class PodConnection extends Duplex {
  readonly #socket: WebSocket
  readonly #begun = new Set<number>()
  #isRead = false
  #error: Error | undefined

  constructor(socket: WebSocket) {
    super()
    this.#socket = socket
    // An error after the answer was read has no other listener.
    this.on('error', () => {})
    // The default `binaryType` is a buffer for each message.
    socket.on('message', (message) => this.#receive(message as Buffer))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', (code) => {
      if (this.destroyed) return
      if (code === brokenConnection) this.#fail(new ConnectionError('ECONNRESET', 'the forwarded connection broke'))
      else this.push(null)
    })
  }

  #receive(message: Buffer): void {
    const [channel = dataChannel] = message
    if (!this.#begun.has(channel)) {
      this.#begun.add(channel)
      return
    }
    const content = message.subarray(1)
    if (content.length === 0) return
    // The kubelet could not connect to the port: nothing listens on it, or its pod does not run.
    if (channel === errorChannel) this.#fail(new Error(content.toString('utf8')))
    else if (channel === dataChannel && !this.push(content)) this.#socket.pause()
  }

  #fail(error: Error): void {
    this.#error ??= error
    if (this.#isRead) this.destroy(this.#error)
  }

  override _read(): void {
    this.#isRead = true
    if (this.#error === undefined) this.#socket.resume()
    else this.destroy(this.#error)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error | null) => void): void {
    // If sending fails, the event `close` reports that.
    this.#socket.send(Buffer.concat([Buffer.of(dataChannel), chunk]), () => written())
  }

  override _destroy(error: Error | null, destroyed: (error: Error | null) => void): void {
    this.#socket.terminate()
    destroyed(error)
  }
}
