import { parseDuration } from '../duration.ts'
import { type AddMistake, didYouMean, quote } from '../errors.ts'

const pods = ['created', 'observed', 'scheduled', 'pulled', 'started', 'ready'] as const
const others = ['created', 'observed', 'ready'] as const

/**
 * The milestones of each kind, by kind and API group as `kubectl` writes them. The names are a contract: users put
 * them into `milestone-timeouts` and read them in the report.
 */
const byKind: Readonly<Record<string, readonly string[]>> = {
  'Deployment.apps': [
    'created',
    'observed',
    'replicaset',
    'scheduled',
    'pulled',
    'started',
    'ready',
    'available',
    'drained',
  ],
  'StatefulSet.apps': [...pods, 'updated'],
  'DaemonSet.apps': [...pods, 'updated'],
  'ReplicaSet.apps': pods,
  ReplicationController: pods,
  Pod: ['created', 'scheduled', 'initialized', 'pulled', 'started', 'running', 'ready'],
  'Job.batch': ['created', 'started', 'succeeded', 'complete'],
  Service: ['created', 'endpoints', 'ready', 'address'],
  PersistentVolumeClaim: ['created', 'provisioned', 'bound'],
  'Ingress.networking.k8s.io': ['created', 'backends', 'address'],
}

/** The names of a kind's milestones, in the order in which they are reached. */
export function milestonesOf({ apiVersion, kind }: { apiVersion: string; kind: string }): readonly string[] {
  const slash = apiVersion.indexOf('/')
  const key = slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`
  return Object.hasOwn(byKind, key) ? (byKind[key] ?? others) : others
}

/** Every name that is a milestone of some kind. */
const known = new Set([...others, ...Object.values(byKind).flat()])

/**
 * Reads `scheduled=2m, ready=5m` (commas or lines between them).
 *
 * @returns milliseconds by milestone, without invalid ones
 */
export function parseMilestoneTimeouts(text: string, addMistake: AddMistake): Record<string, number> {
  const timeouts = new Map<string, number>()
  for (const entry of text.split(/[,\r\n]/)) {
    const written = entry.trim()
    if (written === '') continue
    const equals = written.indexOf('=')
    const name = written.slice(0, Math.max(0, equals)).trim()
    if (name === '') {
      addMistake(`${quote(written)} is no milestone with its duration. Write milestone=duration, like ready=5m.`)
    } else if (!known.has(name)) {
      addMistake(`No kind has a milestone ${quote(name)}.${didYouMean(name, known)}`)
    } else if (timeouts.has(name)) {
      addMistake(`The milestone ${name} is given twice. Keep one of them.`)
    } else {
      const milliseconds = parseDuration(written.slice(equals + 1), (message) => addMistake(`${name}: ${message}`))
      if (milliseconds !== undefined) timeouts.set(name, milliseconds)
    }
  }
  return Object.fromEntries(timeouts)
}
