import { findErrorLine, messageOfLine } from '../../src/cluster/error-lines.ts'

const cases: readonly (readonly [title: string, log: string, quoted: string])[] = [
  [
    'an error before the lines of the shutdown',
    'INFO starting\nERROR no such table\nINFO Shutting down',
    'ERROR no such table',
  ],
  ['the last of several errors', 'ERROR first\nINFO retrying\nERROR second\nINFO bye', 'ERROR second'],
  [
    'a panic of Go, not its stack',
    'panic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:41',
    'panic: nil map',
  ],
  [
    'the exception at the end of a Python traceback, whatever its name',
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    run()\nacme.NotReady: no database\nINFO exit',
    'acme.NotReady: no database',
  ],
  [
    'the innermost cause of a Java exception',
    'Exception in thread "main" java.lang.IllegalStateException: start\n\tat a.B.c(B.java:1)\nCaused by: java.net.ConnectException: refused\n\tat d.E.f(ConnectionError.java:9)',
    'Caused by: java.net.ConnectException: refused',
  ],
  [
    'an Error of Node.js, not the line of code above it',
    "/app/x.js:3\nthrow new Error('no port')\n^\n\nError: no port\n    at main (/app/Error.js:3:7)\n\nNode.js v24",
    'Error: no port',
  ],
  ['the level field of JSON', '{"level":"error","msg":"no db"}\n{"level":"info","msg":"Shutting down"}', 'no db'],
  ['the numeric level of pino', '{"level":60,"msg":"no db"}\n{"level":30,"msg":"exit after error: none"}', 'no db'],
  [
    'the severity of Google Cloud',
    '{"severity":"CRITICAL","message":"no db"}\n{"severity":"INFO","message":"bye"}',
    'no db',
  ],
  ['the error beside the message of JSON', '{"level":"fatal","msg":"exit","err":{"message":"no db"}}', 'exit: no db'],
  ['the level of logfmt', 'level=error msg="no db"\nlevel=info msg=bye', 'level=error msg="no db"'],
  [
    'the letter of klog',
    'E0115 12:00:00.1 1 a.go:1] no db\nI0115 12:00:00.2 1 a.go:2] bye',
    'E0115 12:00:00.1 1 a.go:1] no db',
  ],
  ['a level in brackets', 'nginx: [emerg] host not found\nnginx: exit', 'nginx: [emerg] host not found'],
]

it.each(cases)('the log line to quote is %s', (_, log, quoted) => {
  const lines = log.split('\n')
  expect(messageOfLine(lines[findErrorLine(lines)] ?? '')).toBe(quoted)
})

it.each([
  ['names an error in a line of level INFO', 'INFO no ERROR was found\nINFO done'],
  ['counts errors', 'finished with 0 errors'],
  ['contains an exception in JSON of level info', '{"level":"info","msg":"retried after Exception: refused"}'],
  ['contains JSON without a level', '{"msg":"serving"}'],
  ['is broken JSON', '{"level":"info",'],
  ['is empty', ''],
])('a log that %s has no line that looks like an error', (_, log) => {
  expect(findErrorLine(log.split('\n'))).toBe(-1)
})

it('a long hostile line is read in no time', () => {
  const startedAt = performance.now()
  for (const unit of ['a.', 'Error ', ' at', '{', '[e', 'fatal ']) findErrorLine([unit.repeat(100_000)])
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})
