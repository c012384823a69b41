import { followLog, type LogLine, readLog } from '../../src/cluster/logs.ts'
import { ref, startWithPod } from './log-server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('the end of a log', () => {
  const request = { ...ref, previous: false, tailLines: 25 }

  const start = () => startWithPod(endings)

  test('contains the last lines of a container', async () => {
    const { server, client } = await start()
    server.setLog(ref, Array.from({ length: 100 }, (_, line) => `line ${line}\n`).join(''))
    const { text } = await readLog(client, { ...request, tailLines: 2 })
    expect(text).toBe('line 98\nline 99\n')
  })

  test('keeps the end of very long lines', async () => {
    const { server, client } = await start()
    server.setLog(ref, `${'ä'.repeat(100_000)}\nthe cause\n`)
    expect(await readLog(client, request)).toEqual({ text: 'the cause\n' })
    server.setLog(ref, `${'ä'.repeat(100_000)} the cause`)
    const { text = '' } = await readLog(client, request)
    expect(text.endsWith('ä the cause')).toBe(true)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536)
    expect(text).not.toContain('\uFFFD')
  })

  const gone = 'the node no longer has it'

  test.each([
    ['unable to retrieve container logs for containerd://0123456789abcdef', gone],
    [
      'failed to try resolving symlinks in path "/var/log/pods/a/app/0.log": lstat /var/log/pods/a/app/0.log: no such file or directory',
      'failed to try resolving symlinks in path "/var/log/pods/a/app/0.log": lstat /var/log/pods/a/app/0.log: no such file or directory',
    ],
    ['rpc error: code = NotFound desc = an error occurred when try to find container "0123"', gone],
  ])('a message of the kubelet instead of a removed log is detected (form %#)', async (message, why) => {
    const { server, client } = await start()
    server.setLog({ ...ref, previous: true }, `${message}\n`)
    expect(await readLog(client, { ...request, previous: true })).toEqual({ text: undefined, why })
  })

  test('may contain such a message among other lines', async () => {
    const { server, client } = await start()
    server.setLog(ref, 'starting\nrpc error: code = Unavailable desc = no database\n')
    expect((await readLog(client, request)).text).toContain('no database')
  })

  test('is missing for a container that never ran and for a deleted pod', async () => {
    const { client } = await start()
    expect(await readLog(client, { ...request, previous: true })).toMatchObject({
      text: undefined,
      why: expect.stringContaining('not found'),
    })
    expect(await readLog(client, { ...request, pod: 'gone' })).toMatchObject({ text: undefined })
  })

  test('is an error if it cannot be read', async () => {
    const { server, client } = await start()
    server.deny({ verb: 'get', resource: 'pods/log' })
    await expect(readLog(client, request)).rejects.toMatchObject({ status: 403 })
  })
})

describe('a log that is followed', () => {
  async function start() {
    const { server, client } = await startWithPod(endings)
    const controller = new AbortController()
    const open = (
      options: { follow?: boolean; since?: number; previous?: boolean } = {},
      redact?: (text: string) => string,
    ) =>
      followLog(
        client,
        { ...ref, previous: false, follow: true, since: 0, timeoutMs: 60_000, ...options },
        controller.signal,
        redact,
      )
    return { server, client, controller, open }
  }

  async function next(lines: AsyncGenerator<LogLine>): Promise<string | undefined> {
    const { value } = await lines.next()
    return value?.text
  }

  async function all(lines: AsyncGenerator<LogLine>): Promise<LogLine[]> {
    const found: LogLine[] = []
    for await (const line of lines) found.push(line)
    return found
  }

  test('returns lines with their times as they are written, until the container ends', async () => {
    const { server, open } = await start()
    server.setLog(ref, 'first\n')
    const lines = await open()
    const { value } = await lines.next()
    expect(value).toEqual({ at: expect.any(Number), text: 'first' })
    expect(Math.abs((value?.at ?? 0) - Date.now())).toBeLessThan(60_000)
    server.appendLog(ref, '  second \n\n')
    expect([await next(lines), await next(lines)]).toEqual(['  second ', ''])
    server.appendLog(ref, 'no line break')
    server.endLog(ref)
    expect([await next(lines), await next(lines)]).toEqual(['no line break', undefined])
  })

  test('ends with the present lines without follow', async () => {
    const { server, open } = await start()
    server.setLog(ref, 'one\ntwo\nthree\n')
    const lines = await all(await open({ follow: false }))
    expect(lines.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    const [first, second, third] = lines.map(({ at = 0 }) => at)
    // Lines of one millisecond have different times.
    expect([(second ?? 0) - (first ?? 0), (third ?? 0) - (second ?? 0)]).toEqual([
      expect.closeTo(0.001, 3),
      expect.closeTo(0.001, 3),
    ])
    expect(await all(await open({ follow: false, since: Date.now() + 60_000 }))).toEqual([])
  })

  test('cuts a long line', async () => {
    const { server, open } = await start()
    server.setLog(ref, `${'ä'.repeat(100_000)}\nshort\n`)
    const [long, short] = await all(await open({ follow: false }))
    expect(long?.text).toMatch(/^ä{1900,2000}…$/)
    expect(short?.text).toBe('short')
  })

  test('redacts a secret where a line is cut', async () => {
    const { server, open } = await start()
    server.setLog(ref, `${'x'.repeat(3_990)} sesame-open-0123456789 ${'y'.repeat(100)}\n`)
    const [line] = await all(await open({ follow: false }, (text) => text.replaceAll('sesame-open-0123456789', '***')))
    expect(line?.text).toBe(`${'x'.repeat(3_990)} *** ${'y'.repeat(5)}…`)
  })

  test('joins characters that arrive in pieces', async () => {
    const { server, open } = await start()
    server.splitEvents(3)
    server.setLog(ref, 'größer → 漢字\nnext\n')
    expect((await all(await open({ follow: false }))).map(({ text }) => text)).toEqual(['größer → 漢字', 'next'])
  })

  test('reports a broken connection as an error and drops an incomplete line', async () => {
    const { server, open } = await start()
    server.setLog(ref, 'one\n')
    const lines = await open()
    expect(await next(lines)).toBe('one')
    const rest = lines.next()
    server.cutWatches({ midEvent: true })
    await expect(rest).rejects.toThrow()
  })

  test('ends at once when it is aborted', async () => {
    const { server, controller, open } = await start()
    server.setLog(ref, 'one\n')
    const lines = await open()
    expect(await next(lines)).toBe('one')
    const rest = lines.next()
    controller.abort()
    await expect(rest).rejects.toThrow()
  })

  test.each([
    [403, { verb: 'get', resource: 'pods/log' }],
    [400, undefined],
  ])('a refusal with the status %i is an error with that status', async (status, denial) => {
    const { server, open } = await start()
    if (denial !== undefined) server.deny(denial)
    await expect(open({ previous: denial === undefined })).rejects.toMatchObject({ status })
  })
})
