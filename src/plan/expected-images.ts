import { type AddMistake, quote } from '../errors.ts'

/** The digest that each container is to run, by the container's name. */
export type ExpectedImages = Readonly<Record<string, string>>

/**
 * Reads `container=sha256:…` lines, as `docker/build-push-action` gives the digest. A whole image name before the digest
 * (`app=registry/app@sha256:…`) is allowed; `#` begins a comment.
 *
 * @returns digests by container, without invalid ones
 */
export function parseExpectedImages(text: string, addMistake: AddMistake): ExpectedImages {
  const expected = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const written = line.replace(/(^|\s)#.*$/, '').trim()
    if (written === '') continue
    const [, container, digest] = /^([^\s=]+)\s*=\s*(?:\S+@)?(sha256:[0-9a-f]{64})$/.exec(written) ?? []
    if (container === undefined || digest === undefined) {
      addMistake(
        `${quote(written)} is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`,
      )
    } else if (expected.has(container)) {
      addMistake(`The container ${container} is given twice. Keep one of them.`)
    } else {
      expected.set(container, digest)
    }
  }
  return Object.fromEntries(expected)
}
