/** The part of the library ws that `port-forward.ts` and the tests use (github.com/websockets/ws, doc/ws.md). */
declare module 'ws' {
  import type { EventEmitter } from 'node:events'
  import type { ClientRequest, IncomingMessage, Server } from 'node:http'
  import type { RequestOptions } from 'node:https'

  export default class WebSocket extends EventEmitter<{
    open: []
    close: [number]
    error: [Error]
    message: [Buffer]
    'unexpected-response': [ClientRequest, IncomingMessage]
  }> {
    constructor(
      url: URL,
      protocol: string,
      options: RequestOptions & { readonly perMessageDeflate: boolean; readonly maxPayload: number },
    )
    send(data: Buffer, sent?: (error?: Error) => void): void
    pause(): void
    resume(): void
    /** Closes the connection after what was sent. */
    close(): void
    /** Closes the connection at once. */
    terminate(): void
  }

  export class WebSocketServer extends EventEmitter<{ connection: [WebSocket, IncomingMessage] }> {
    constructor(options: { readonly server: Server } | { readonly noServer: true })
    handleUpgrade(request: IncomingMessage, socket: object, head: Buffer, opened: (client: WebSocket) => void): void
    close(): void
  }
}
