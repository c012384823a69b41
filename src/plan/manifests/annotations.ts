import { type Complain, quote } from '../complain.ts'
import { parseDuration } from '../duration.ts'
import { nearest } from '../nearest.ts'
import type { TargetClocks, WaitFor } from '../target.ts'
import { parseWaitFor } from '../wait-for.ts'

/** What an object's own annotations say of how it is to be gated (DESIGN §3). */
export interface GateAnnotations {
  readonly clocks: Pick<TargetClocks, 'timeoutMs' | 'stallTimeoutMs'>
  readonly waitFor?: WaitFor
  /** Absent when nothing is written. */
  readonly skip?: boolean
}

const prefix = 'rollout-gate/'
const names = ['timeout', 'stall-timeout', 'for', 'skip']
const known = names.map((name) => `${prefix}${name}`)

/**
 * Reads the annotations that speak to the gate; those of others are left alone.
 *
 * @param annotations `metadata.annotations`, of whatever type
 * @param complain of an annotation, named by its key
 */
export function readGateAnnotations(
  annotations: unknown,
  complain: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(prefix)) continue
    if (!known.includes(key)) {
      const [near] = nearest(key.slice(prefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${prefix}${near}?`
      complain(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      complain(key, `${key} is no string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const read = <T>(name: string, parse: (text: string, complain: Complain) => T | undefined): T | undefined => {
    const key = `${prefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => complain(key, `${key}: ${message}`))
  }
  const timeoutMs = read('timeout', parseDuration)
  const stallTimeoutMs = read('stall-timeout', parseDuration)
  const waitFor = read('for', parseWaitFor)
  const skip = read('skip', parseSkip)
  return {
    clocks: {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(stallTimeoutMs === undefined ? {} : { stallTimeoutMs }),
    },
    ...(waitFor === undefined ? {} : { waitFor }),
    ...(skip === undefined ? {} : { skip }),
  }
}

function parseSkip(text: string, complain: Complain): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  complain(`${quote(text)} is neither "true" nor "false". Write one of them.`)
  return undefined
}
