import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { until } from './command.ts'
import { TcpProxy } from './tcp-proxy.ts'

/** A connection of a client and its state. */
interface Client {
  socket: Socket
  /** The received pieces, in order. */
  pieces: { text: string; at: number }[]
  /** `open`, `closed`, or the code of its error. */
  state: string
}

let server: Server
let proxy: TcpProxy
let clients: Client[]
/** The data that the server received from all connections. */
let received: string

beforeEach(async () => {
  received = ''
  clients = []
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received += data
      socket.write(data)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await TcpProxy.start({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
})

afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  await proxy.close()
  server.close()
})

function open(): Client {
  const socket = connect(proxy.port, '127.0.0.1')
  const client: Client = { socket, pieces: [], state: 'open' }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => client.pieces.push({ text, at: Date.now() }))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    client.state = error.code ?? 'error'
  })
  socket.on('close', (hadError) => {
    if (!hadError) client.state = 'closed'
  })
  clients.push(client)
  return client
}

function textOf({ pieces }: Client): string {
  return pieces.map(({ text }) => text).join('')
}

/** Sends a text and waits for its echo. */
async function exchange(client: Client, text: string): Promise<void> {
  const before = textOf(client)
  client.socket.write(text)
  await until(`the echo of ${text}`, 5, () => textOf(client) === before + text || client.state !== 'open')
  expect([client.state, textOf(client)]).toEqual(['open', before + text])
}

async function openAndExchange(text: string): Promise<Client> {
  const client = open()
  await exchange(client, text)
  return client
}

/** Waits until a connection has ended, and returns its state. */
async function endOf(client: Client): Promise<string> {
  await until('the connection ends', 5, () => client.socket.closed)
  return client.state
}

/** The effect of each fault on an established and on a new connection. */
const disturbances: {
  name: string
  disturb: () => void | Promise<void>
  /** `works`, `silent`, or the end of the connection. */
  established: string
  opened: string
}[] = [
  { name: 'forward', disturb: () => proxy.forward(), established: 'works', opened: 'works' },
  { name: 'half-open', disturb: () => proxy.halfOpen(), established: 'silent', opened: 'silent' },
  { name: 'silence', disturb: () => proxy.silence(), established: 'silent', opened: 'works' },
  { name: 'cut', disturb: () => proxy.cut(), established: 'closed', opened: 'works' },
  { name: 'reset', disturb: () => proxy.reset(), established: 'ECONNRESET', opened: 'ECONNRESET' },
  { name: 'refuse', disturb: () => proxy.refuse(), established: 'closed', opened: 'ECONNREFUSED' },
  { name: 'slow', disturb: () => proxy.slow({ latencyMs: 5, pieceBytes: 2 }), established: 'works', opened: 'works' },
]

describe.each(disturbances)('after $name', ({ disturb, established, opened }) => {
  const expectState = async (client: Client, state: string) => {
    if (state === 'works') await exchange(client, 'question')
    else if (state !== 'silent') expect(await endOf(client)).toBe(state)
    else client.socket.write('lost')
  }

  it(`established connections: ${established}; new ones: ${opened}`, async () => {
    const before = await openAndExchange('hello')
    await disturb()
    await expectState(before, established)
    const after = open()
    if (opened === 'silent') await until('the new connection is accepted', 5, () => proxy.connections === 2)
    await expectState(after, opened)
    // Later data arrives, so earlier data is lost and not only late.
    await proxy.forward()
    await openAndExchange('late')
    expect(received).not.toContain('lost')
    if (established === 'silent') expect([before.state, textOf(before)]).toEqual(['open', 'hello'])
    if (opened === 'silent') expect([after.state, textOf(after)]).toEqual(['open', ''])
  })

  it('forward() restores new connections on the same port', async () => {
    const { port } = proxy
    await disturb()
    await proxy.forward()
    await openAndExchange('again')
    expect(proxy.port).toBe(port)
  })
})

it('a slow connection delays all data and its end, in small pieces and in order', async () => {
  proxy.slow({ latencyMs: 40, pieceBytes: 4, pauseMs: 200 })
  const client = open()
  const sentAt = Date.now()
  client.socket.end('0123456789')
  await once(client.socket, 'close')
  expect(textOf(client)).toBe('0123456789')
  expect(client.pieces[0]?.at).toBeGreaterThanOrEqual(sentAt + 80)
  // A busy machine may read two of the three pieces at once.
  expect(client.pieces.length).toBeGreaterThan(1)
})

it('a connection that is fast again keeps the order of delayed data', async () => {
  const client = await openAndExchange('start ')
  proxy.slow({ latencyMs: 40, pieceBytes: 100 })
  client.socket.write('slow ')
  await until('the slow piece has arrived at the server', 5, () => received.includes('slow'))
  await proxy.forward()
  client.socket.write('fast')
  await until('both echoes', 5, () => textOf(client).length >= 'start slow fast'.length)
  expect(textOf(client)).toBe('start slow fast')
})

it('the proxy counts the open connections of clients', async () => {
  const client = await openAndExchange('one')
  await openAndExchange('two')
  expect(proxy.connections).toBe(2)
  client.socket.destroy()
  await until('one is left', 5, () => proxy.connections === 1)
})

it('the proxy closes connections when the server is gone', async () => {
  server.close()
  expect(await endOf(open())).toBe('closed')
})
