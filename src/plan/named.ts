import { type ParsedReferences, parseReferences } from './references.ts'

/** The inputs that name what to gate, as they are written. */
export interface NamingInputs {
  readonly resources?: string | undefined
  readonly manifests?: string | undefined
}

const bothEmpty =
  'resources and manifests are both empty. Write one reference a line in resources, like deployment/web, or files in manifests. If an expression fills them, such as steps.apply.outputs.applied, check the names in it.'

/**
 * Reads all that the user named, in `resources` and in `manifests`: their union.
 * Never throws for what he wrote: mistakes are collected.
 *
 * @param workspace what the paths of `manifests` are relative to
 */
export async function readNamed({ resources = '', manifests = '' }: NamingInputs, workspace: string) {
  if (manifests.trim() === '') return parseReferences(resources, 'resources', { nothing: bothEmpty })
  // The parser of YAML costs start-up time that a gate without manifests need not pay.
  const { readManifests } = await import('./manifests/read.ts')
  return unite(parseReferences(resources, 'resources', { alone: false }), readManifests(manifests, workspace))
}

/** What two sources name together; the order of the targets is theirs. */
export function unite(first: ParsedReferences, second: ParsedReferences): ParsedReferences {
  const ofSecond = second.skipped.map((line) => ({ file: second.input, ...line }))
  return {
    input: first.input,
    ...(first.places === undefined ? {} : { places: first.places }),
    references: [...first.references, ...second.references],
    faulty: [...(first.faulty ?? []), ...(second.faulty ?? [])],
    skipped: [...first.skipped, ...ofSecond],
    mistakes: [...first.mistakes, ...second.mistakes],
  }
}

/**
 * Whether a text that came by standard input is manifests, and not what kubectl printed about them: kubectl's lines begin
 * with a resource, manifests hold an `apiVersion`.
 */
export function isManifestText(text: string): boolean {
  return /^\s*[{[]/.test(text) || /^(?:- |\s)*["']?apiVersion["']?\s*:/m.test(text)
}
