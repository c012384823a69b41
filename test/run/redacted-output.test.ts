import { Secrets } from '../../src/cluster/secrets.ts'
import type { RunRecord } from '../../src/gate/run-record.ts'
import { RedactedOutput, type Reporter } from '../../src/run/redacted-output.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { createEntry, createRecord, createTargetRecord } from '../report/builders.ts'

const password = 'correct-horse-1'
const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }

function open() {
  const clock = new ManualClock()
  const secrets = new Secrets()
  const shown: string[] = []
  let present: (() => RunRecord) | undefined
  const reporter: Reporter = {
    onStart: (state, notices) => {
      shown.push(...notices)
      present = state
    },
    onEntry: ({ text }) => shown.push(text),
    onLog: ({ text }) => shown.push(text),
    onWarning: (text) => shown.push(text),
  }
  const redacted = new RedactedOutput(reporter, secrets, clock)
  redacted.follow(() => [pods])
  const learn = () => {
    secrets.addFromSecret('password', password)
    redacted.observe({ type: 'SYNCED', at: clock.now(), ...pods })
  }
  return { clock, redacted, shown, learn, state: () => present?.() }
}

test('entries, warnings and log lines leave in their order, with the secrets that are known by then', () => {
  const { redacted, shown, learn } = open()
  const output = { at: 0, target: 0, pod: 'web', container: 'app', type: 'line' } as const
  redacted.onEntry(createEntry({ text: `entry ${password}` }))
  redacted.onLog({ ...output, text: `log ${password}` })
  redacted.onWarning(`warning ${password}`)
  learn()
  expect(shown).toEqual(['entry ***', 'log ***', 'warning ***'])
})

test('once the lists have arrived, an entry leaves at once', () => {
  const { redacted, shown, learn } = open()
  learn()
  redacted.onEntry(createEntry({ text: 'failed', outcome: 'failed' }))
  expect(shown).toEqual(['failed'])
})

test('the lines of a private key are replaced in each log, while other logs go on', () => {
  const { redacted, shown, learn } = open()
  const log = (container: string, text: string) =>
    redacted.onLog({ at: 0, target: 0, pod: 'web', container, type: 'line', text })
  log('app', '-----BEGIN PRIVATE KEY-----')
  log('app', 'bGluZSBvZiBhIGtleQ')
  log('proxy', 'listening')
  log('app', '-----END PRIVATE KEY-----')
  log('app', 'ready')
  learn()
  expect(shown).toEqual(['***', '***', 'listening', '***', 'ready'])
})

test('until the lists have arrived, the present state has no texts', () => {
  const { redacted, learn, state } = open()
  const message = `cannot log in with ${password}`
  redacted.onStart(() => createRecord({ targets: [createTargetRecord({ message })] }), [])
  expect(state()?.targets[0]?.message).toBe('')
  learn()
  expect(state()?.targets[0]?.message).toBe('cannot log in with ***')
})
