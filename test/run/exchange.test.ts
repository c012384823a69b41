import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { systemClock } from '../../src/cluster/clock.ts'
import { exchange, type HttpQuery, missingText } from '../../src/run/checker.ts'

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
  timeoutMs: 300,
  maxBytes: 64 << 10,
}
const send = (port: number, asked: HttpQuery, signal = new AbortController().signal) =>
  exchange(connect(port, '127.0.0.1'), port, asked, systemClock, signal)

async function ask(answer: (socket: Socket) => void, changes: Partial<HttpQuery> = {}) {
  const port = await startServer(answer)
  const asked = { ...query, ...changes }
  try {
    return await send(port, asked)
  } catch (error) {
    return missingText(error, asked.timeoutMs)
  }
}

const sends =
  (...parts: string[]) =>
  (socket: Socket) => {
    for (const part of parts) socket.write(part)
  }
const sendsAndCloses = (text: string) => (socket: Socket) => socket.end(text)

describe('answers of any server', () => {
  test('a body with a length ends there, although the connection stays open', async () => {
    expect(await ask(sends('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nv2\n'))).toMatchObject({
      status: 200,
      body: 'v2\n',
    })
  })

  test('a body of HTTP/1.0 without a length ends with the connection', async () => {
    expect(await ask(sendsAndCloses('HTTP/1.0 404 Not Found\r\n\r\nno such page'))).toMatchObject({
      status: 404,
      body: 'no such page',
    })
  })

  test('chunks are joined', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nv2\r\n3\r\n.1\n\r\n0\r\n\r\n'
    expect(await ask(sends(answer))).toMatchObject({ body: 'v2.1\n' })
  })

  test('a status without a body is an answer', async () => {
    expect(await ask(sends('HTTP/1.1 204 No Content\r\n\r\n'))).toMatchObject({ status: 204, body: '' })
    expect(await ask(sends('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'), { method: 'HEAD' })).toMatchObject({
      body: '',
    })
  })

  test('of an endless body only the start is read', async () => {
    const sockets: Socket[] = []
    const answer = await ask(
      (socket) => {
        sockets.push(socket)
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const fill = () => {
          while (!socket.destroyed && socket.write('x'.repeat(1 << 16)));
        }
        socket.on('drain', fill)
        fill()
      },
      { maxBytes: 1000, timeoutMs: 5_000 },
    )
    expect(answer).toMatchObject({ status: 200, body: 'x'.repeat(1000) })
    for (const socket of sockets) if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  })

  test('bytes that are no text become replacement characters', async () => {
    const answer = (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n')
      socket.write(Buffer.of(0xff, 0x41))
    }
    expect(await ask(answer)).toMatchObject({ body: '\uFFFDA' })
  })

  test.each([
    [
      'a body that drips',
      sends('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nv2'),
      'timed out: no complete answer within 0.3 s',
    ],
    ['no answer', () => {}, 'timed out: no complete answer within 0.3 s'],
    ['endless interim answers', endlessInterim, 'timed out: no complete answer within 0.3 s'],
    ['a connection that is closed at once', (socket: Socket) => socket.destroy(), closedEarly()],
    ['a body that ends early', sendsAndCloses('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nv2'), closedEarly()],
    [
      'a chunk that ends early',
      sendsAndCloses('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nv2'),
      closedEarly(),
    ],
    ['another protocol', sends('SSH-2.0-OpenSSH_9.2\r\n'), 'the answer is not HTTP'],
    [
      'both a length and chunks',
      sends('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      'the answer is not HTTP',
    ],
    ['a header with a line break in it', sends('HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n'), 'the answer is not HTTP'],
    [
      'endless headers',
      sends('HTTP/1.1 200 OK\r\n', `X: ${'x'.repeat(20_000)}`),
      'the headers of the answer are too long',
    ],
    [
      'a change of the protocol',
      sends('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      closedEarly(),
    ],
  ])('%s is a missing answer', async (_, answer, message) => expect(await ask(answer)).toBe(message))

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
    expect(received).toMatch(/^GET \/ HTTP\/1\.1\r\nx-team: a\r\nx-team: b\r\nhost: shop\.example\r\n/)
  })
})

function closedEarly(): string {
  return 'the connection was closed before the answer was complete'
}

function endlessInterim(socket: Socket): void {
  const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 5)
  socket.on('close', () => clearInterval(timer))
}

test.each([
  ['dial tcp 10.1.2.3:8080: connect: connection refused', 'connection refused'],
  ['read tcp 127.0.0.1:8080: read: connection reset by peer', closedEarly()],
  ['dial tcp 10.1.2.3:8080: i/o timeout', 'dial tcp 10.1.2.3:8080: i/o timeout'],
])('the error %p of a kubelet is in plain words: %p', (cause, message) =>
  expect(missingText(new Error(cause), 5_000)).toBe(message),
)
