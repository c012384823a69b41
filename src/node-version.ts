/** The oldest Node that the dependencies run on: `engines` of package.json. */
const needed = { major: 22, minor: 19 }

/**
 * Starts the program, or says on stderr which Node it needs and fails.
 *
 * The programs import this and nothing else before they know: the rest may not even load on an older Node, and its
 * stack trace would tell nobody what to do. So no syntax or API newer than Node 16 in this file.
 */
export async function startOnCurrentNode(start: () => Promise<void>): Promise<void> {
  const tooOld = whyTooOld(process.versions.node)
  if (tooOld === undefined) return start()
  console.error(tooOld)
  process.exitCode = 1
}

/**
 * What to tell the user of a Node that is too old; nothing when it is new enough.
 * @param version as in `process.versions.node`, e.g. `20.11.1`
 */
export function whyTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return undefined
  return (
    `Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ` +
    'Update Node; as a step of a workflow it runs on the Node 24 that every runner since 2.327.1 brings.'
  )
}
