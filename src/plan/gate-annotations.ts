import { parseDuration } from '../duration.ts'
import { type AddMistake, nearest, quote } from '../errors.ts'
import { annotationPrefix } from './reference.ts'
import { parseWaitFor } from './reference-flags.ts'
import { definedClocks, type TargetClocks, type WaitFor } from './target.ts'

/** Settings from the annotations of a manifest's object. */
interface GateAnnotations {
  readonly clocks: Pick<TargetClocks, 'timeoutMs' | 'stallTimeoutMs'>
  readonly waitFor?: WaitFor
  readonly skip?: boolean
}

const names = ['timeout', 'stall-timeout', 'for', 'skip']
const known = names.map((name) => `${annotationPrefix}${name}`)

/**
 * Reads the annotations whose keys have the gate's prefix.
 * @param annotations `metadata.annotations`, not yet validated
 * @param addMistake called with the key of the annotation
 */
export function readGateAnnotations(
  annotations: unknown,
  addMistake: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(annotationPrefix)) continue
    if (!known.includes(key)) {
      const [near] = nearest(key.slice(annotationPrefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${annotationPrefix}${near}?`
      addMistake(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      addMistake(key, `${key} is not a string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const read = <T>(name: string, parse: (text: string, addMistake: AddMistake) => T | undefined): T | undefined => {
    const key = `${annotationPrefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => addMistake(key, `${key}: ${message}`))
  }
  return {
    clocks: definedClocks({
      timeoutMs: read('timeout', parseDuration),
      stallTimeoutMs: read('stall-timeout', parseDuration),
    }),
    waitFor: read('for', parseWaitFor),
    skip: read('skip', parseSkip),
  }
}

function parseSkip(text: string, addMistake: AddMistake): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  addMistake(`${quote(text)} is neither "true" nor "false". Write one of them.`)
  return undefined
}
