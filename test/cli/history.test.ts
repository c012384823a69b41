import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { runCommand } from '../support/command.ts'
import { server } from '../support/fresh-server.ts'
import { rolledOut } from './objects.ts'
import { useWorkFolder } from './work-folder.ts'

useWorkFolder(() => server.kubeconfig({ token: 'token', namespace: 'shop' }))

beforeEach(() => {
  server.apply(rolledOut())
})

const waitFor = (...flags: readonly string[]) => runCommand(['wait', 'deployment/web', ...flags])

describe('a history', () => {
  test('gets a line from each gate that names the file, and is shown by the command', async () => {
    for (let gates = 0; gates < 2; gates++) expect((await waitFor('--history=new/gates.ndjson')).code).toBe(0)
    expect(readFileSync('new/gates.ndjson', 'utf8').trim().split('\n')).toHaveLength(2)
    const { code, stdout, stderr } = await runCommand(['history', 'new/gates.ndjson'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^2 gates from \S+ to \S+: 2 ready, 0 not ready\n\ndeployment\.apps\/web -n shop on \S+\n/)
  })

  test('is one line of JSON with --json', async () => {
    await waitFor('--history=gates.ndjson')
    const { code, stdout } = await runCommand(['history', 'gates.ndjson', '--json'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\{.*\}\n$/)
    expect(JSON.parse(stdout)).toMatchObject({
      gates: 1,
      ready: 1,
      targets: [{ target: 'deployment.apps/web', namespace: 'shop', context: 'test', runs: 1, failed: 0 }],
    })
  })

  test('with lines that are no gates is read without these lines, and reports them', async () => {
    writeFileSync('gates.ndjson', 'nonsense\n')
    const { code, stderr } = await waitFor('--history=gates.ndjson')
    expect(code).toBe(0)
    expect(stderr).toBe('history: gates.ndjson: 1 line is no gate and was skipped (line 1)\n')
    expect((await runCommand(['history', 'gates.ndjson'])).stderr).toBe(
      'gates.ndjson: 1 line is no gate and was skipped (line 1)\n',
    )
  })

  test('that cannot be written does not change the verdict', async () => {
    mkdirSync('folder')
    const { code, stderr } = await waitFor('--history=folder', '--junit=folder')
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /^history: folder could not be read or written: .*\njunit: folder could not be written: .*\n$/,
    )
  })

  test.each([[], ['a.ndjson', 'b.ndjson']])('is one file: the command refuses %j', async (...files: string[]) => {
    const { code, stderr } = await runCommand(['history', ...files])
    expect(code).toBe(2)
    expect(stderr).toContain('Name one history, the file of --history: rollout-gate history gates.ndjson')
  })
})

test('a JUnit report has a case for the target of the gate', async () => {
  await waitFor('--junit=reports/rollout.xml')
  expect(readFileSync('reports/rollout.xml', 'utf8')).toContain(
    '<testcase name="deployment/web" classname="shop.Deployment"',
  )
})
