import { isLogLine } from './foreign-output.ts'
import { splitWords } from './words.ts'

/** What a line of kubectl's output says: the resource it speaks of, or why there is nothing to gate. */
export type Printed = { readonly words: readonly string[]; readonly skip?: undefined } | { readonly skip: string }

/**
 * Reads a line that kubectl printed: `deployment.apps/web configured`, `service/web created (server dry run)`, and with
 * the name in quotes, as `kubectl delete` and old releases print (k8s.io/cli-runtime pkg/printers, `NamePrinter`;
 * k8s.io/kubectl pkg/cmd/delete).
 *
 * The verb may be any: kubectl's are participles (`configured`, `serverside-applied`, `rolled back`,
 * `skipped rollback (…)`), besides `condition met`. A second name beside a TYPE/NAME is thus no verb but a mistake.
 *
 * @returns nothing when kubectl would not have printed it
 */
export function readPrinted(line: string): Printed | undefined {
  if (/^warning:/i.test(line)) return { skip: 'a warning' }
  if (isLogLine(line)) return { skip: 'a log line' }

  const words = splitWords(line, () => {})
  const resource = words?.[0]
  if (words === undefined || resource === undefined) return undefined

  const inQuotes = !resource.text.includes('/') && words[1]?.quoted === true
  if (!inQuotes && !resource.text.includes('/')) return undefined

  const rest = words.slice(inQuotes ? 2 : 1).map(({ text, quoted }) => (quoted ? '' : text))
  const parenthesis = rest.findIndex((word) => word.startsWith('('))
  const verb = parenthesis < 0 ? rest : rest.slice(0, parenthesis)
  if (!verb.every((word) => /^[a-z0-9][a-z0-9-]*$/.test(word)) || !verb.some((word) => /ed$|^met$/.test(word))) {
    return undefined
  }

  if (rest.join(' ').endsWith('dry run)')) return { skip: 'a dry run' }
  if (verb.includes('deleted')) return { skip: 'deleted' }
  if (verb.includes('pruned')) return { skip: 'pruned' }
  return { words: words.slice(0, inQuotes ? 2 : 1).map(({ text }) => text) }
}
