import type { RequestOptions } from 'node:https'
import { Duplex } from 'node:stream'
import WebSocket from 'ws'
import { maxMessageBytes } from '../thresholds.ts'
import { type Client, readApiError } from './client.ts'
import { ConnectionError } from './failures.ts'

/* Connects to a port of a pod through the API server. */

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/**
 * The kubelet's protocol for port-forward (kubelet `pkg/cri/streaming/portforward/websocket.go`). The first byte of a
 * message is its channel: 0 for data, 1 for the error that ends the connection. The first message of each channel
 * contains only the port.
 */
const protocol = 'v4.channel.k8s.io'
const dataChannel = 0
const errorChannel = 1
/** The close code of a broken connection (RFC 6455, 7.1.5). The kubelet itself closes with another code. */
const brokenConnection = 1006

/**
 * Opens a connection to a port of a pod through the API server. The kubelet connects to `localhost` in the pod. If the
 * API server refuses the connection or is unavailable, rejects like `Client`. If the pod refuses the connection, the
 * stream fails with the kubelet's message.
 */
export function forwardPort(client: Client, { namespace, pod, port }: PodPort, signal: AbortSignal): Promise<Duplex> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward?ports=${port}`
  return client.withCredentials(path, { accept: '*/*', signal }, openWebSocket)
}

function openWebSocket(url: URL, request: RequestOptions, signal: AbortSignal): Promise<Duplex> {
  const socket = new WebSocket(url, protocol, { ...request, perMessageDeflate: false, maxPayload: maxMessageBytes })
  // Created before the event `open`, because the first messages may arrive together with this event.
  const connection = new PodConnection(socket)
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const abort = () => {
    reject(signal.reason)
    connection.destroy()
  }
  socket.once('open', () => resolve(connection))
  socket.once('error', reject)
  socket.once('unexpected-response', (_, response) => {
    // No agent closes the socket of this response, so it is destroyed here.
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
 * The bytes of a forwarded connection. Both directions end with the WebSocket, because the protocol cannot close only
 * one. An error is held back until the first read, when the stream has an error listener.
 */
class PodConnection extends Duplex {
  readonly #socket: WebSocket
  readonly #begun = new Set<number>()
  #isRead = false
  #error: Error | undefined

  constructor(socket: WebSocket) {
    super()
    this.#socket = socket
    // Without this listener, an error after the end of the answer would end the process.
    this.on('error', () => {})
    // With the default `binaryType`, every message is a Buffer.
    socket.on('message', (message) => this.#handleMessage(message as Buffer))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', (code) => {
      if (this.destroyed) return
      if (code === brokenConnection) this.#fail(new ConnectionError('ECONNRESET', 'the forwarded connection broke'))
      else this.push(null)
    })
  }

  #handleMessage(message: Buffer): void {
    const [channel = dataChannel] = message
    if (!this.#begun.has(channel)) {
      this.#begun.add(channel)
      return
    }
    const content = message.subarray(1)
    if (content.length === 0) return
    // The kubelet could not connect: the pod does not run, or no process listens on the port.
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
    // A failure to send is ignored here: the event `close` follows.
    this.#socket.send(Buffer.concat([Buffer.of(dataChannel), chunk]), () => written())
  }

  override _destroy(error: Error | null, destroyed: (error: Error | null) => void): void {
    this.#socket.terminate()
    destroyed(error)
  }
}
