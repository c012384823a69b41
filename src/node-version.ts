/** The minimum Node version of the dependencies: `engines` in package.json. */
const needed = { major: 22, minor: 19 }

/**
 * Starts the program, or fails with the required Node version.
 *
 * The launchers import only this file statically, because the other files may fail to load on an older Node. Use no
 * syntax or API newer than Node 16 here.
 */
export async function startOnCurrentNode(start: () => Promise<void>): Promise<void> {
  const tooOld = whyTooOld(process.versions.node)
  if (tooOld === undefined) return start()
  console.error(tooOld)
  process.exitCode = 1
}

/**
 * The error message for an old Node version, or undefined.
 * @param version as in `process.versions.node`, e.g. `20.11.1`
 */
export function whyTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return undefined
  return (
    `Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ` +
    'Update Node. In a workflow, Rollout Gate runs on Node 24, which every runner since 2.327.1 contains.'
  )
}
