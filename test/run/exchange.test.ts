import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { systemClock } from '../../src/cluster/clock.ts'
import { type HttpQuery, noAnswerText, sendRequest } from '../../src/run/http-checker.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')
const tooLong = 'the headers of the answer are too long'

const endings: (() => void)[] = []
afterEach(() => {
  for (const end of endings.splice(0)) end()
})

/** A server that sends bytes of its choice; its port. */
async function startServer(answer: (socket: Socket, request: string) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', (request) => answer(socket, String(request)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

const query: HttpQuery = {
  method: 'GET',
  scheme: 'http',
  path: '/',
  headers: [],
  timeoutMs: 10_000,
}
const send = (port: number, asked: HttpQuery, signal = new AbortController().signal) =>
  sendRequest(connect(port, '127.0.0.1'), port, asked, systemClock, signal)

async function ask(answer: (socket: Socket) => void, changes: Partial<HttpQuery> = {}) {
  const port = await startServer(answer)
  const asked = { ...query, ...changes }
  try {
    return await send(port, asked)
  } catch (error) {
    return noAnswerText(error, asked.timeoutMs)
  }
}

/** Sends texts, and closes the connection after them or leaves it open. */
const sends = (texts: readonly string[], closes: boolean) => (socket: Socket) => {
  for (const text of texts) socket.write(text)
  if (closes) socket.end()
}

describe('for an HTTP request,', () => {
  test.each(rows<[string, Partial<HttpQuery>, readonly string[], boolean, object]>(data, 'answers'))(
    '%s',
    async (_, asked, texts, closes, answer) => {
      expect(await ask(sends(texts, closes), asked)).toMatchObject(answer)
    },
  )

  test('a response with an endless body is read only at its start', async () => {
    const sockets: Socket[] = []
    const answer = await ask((socket) => {
      sockets.push(socket)
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const fill = () => {
        while (!socket.destroyed && socket.write('x'.repeat(1 << 16)));
      }
      socket.on('drain', fill)
      fill()
    })
    expect(answer).toMatchObject({ status: 200, body: 'x'.repeat(64 << 10) })
    for (const socket of sockets) if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  })

  test('a response with bytes that are no text contains replacement characters', async () => {
    const answer = (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n')
      socket.write(Buffer.of(0xff, 0x41))
    }
    expect(await ask(answer)).toMatchObject({ body: '\uFFFDA' })
  })

  test.each([
    ...rows<[string, readonly string[], boolean, string]>(data, 'missing answers').map(
      ([what, texts, closes, message]) => [what, sends(texts, closes), message] as const,
    ),
    ['endless interim answers', endlessInterim, 'timed out: no complete answer within 0.3 s'] as const,
    ['endless headers', sends(['HTTP/1.1 200 OK\r\n', `X: ${'x'.repeat(20_000)}`], false), tooLong] as const,
  ])('%s is a missing answer', async (_, answer, message) =>
    expect(await ask(answer, { timeoutMs: 300 })).toBe(message),
  )

  test('an aborted request ends at once', async () => {
    const port = await startServer(() => aborting.abort(new Error('no longer asked')))
    const aborting = new AbortController()
    await expect(send(port, { ...query, timeoutMs: 60_000 }, aborting.signal)).rejects.toThrow('no longer asked')
  })

  test('a request that asks to keep its connection leaves none open', async () => {
    const closed = Promise.withResolvers<void>()
    const answer = (socket: Socket) => {
      socket.on('close', () => closed.resolve())
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nv2')
    }
    expect(await ask(answer, { headers: [['Connection', 'keep-alive']] })).toMatchObject({ body: 'v2' })
    await closed.promise
  })

  test('a header may be given several times', async () => {
    let received = ''
    const port = await startServer((socket, request) => {
      received = request
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
    const headers = [
      ['X-Team', 'a'],
      ['x-team', 'b'],
      ['Host', 'shop.example'],
    ] as const
    await send(port, { ...query, headers })
    expect(received).toMatch(/^GET \/ HTTP\/1\.1\r\nX-Team: a\r\nX-Team: b\r\nHost: shop\.example\r\n/)
  })
})

function endlessInterim(socket: Socket): void {
  const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 5)
  socket.on('close', () => clearInterval(timer))
}

test.each(rows<[string, string]>(data, 'errors of a kubelet'))(
  'the kubelet error %p is shortened to %p',
  (cause, message) => expect(noAnswerText(new Error(cause), 5_000)).toBe(message),
)
