import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** A workflow step. */
export interface Step {
  id?: string
  if?: string
  uses?: string
  with?: Record<string, string>
  run?: string
  shell?: string
  env?: Record<string, string>
}

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
const published = /^rollout-gate\/rollout-gate@/

/**
 * The steps of the README's only example that contains a text. Steps with the published action get the id `gate` and use
 * this checkout instead; the namespace of the README is replaced.
 */
export function readmeSteps(containing: string, namespace: string): Step[] {
  const blocks = [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml]) => parse(yaml ?? ''))
  const found = blocks.filter((block) => Array.isArray(block) && JSON.stringify(block).includes(containing))
  if (found.length !== 1) throw new Error(`README has ${found.length} examples of steps that contain "${containing}"`)
  const steps: Step[] = JSON.parse(JSON.stringify(found[0]).replaceAll(/\bshop\b/g, namespace))
  return steps.map((step) => (published.test(step.uses ?? '') ? { ...step, id: 'gate', uses: './' } : step))
}
