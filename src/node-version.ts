/** The minimum Node version of the dependencies: `engines` in package.json. */
const needed = { major: 22, minor: 19 }

/**
 * Starts the program, or fails with the required Node version: the action with one error annotation, the command line
 * with a line on stderr.
 *
 * The launchers import only this file statically, because the other files may fail to load on an older Node. Use no
 * syntax or API newer than Node 16 here.
 * @param isAction whether GitHub's runner chose the Node
 */
export async function startOnCurrentNode(start: () => Promise<void>, isAction = false): Promise<void> {
  const tooOld = nodeVersionError(process.versions.node, isAction ? `${process.platform}-${process.arch}` : undefined)
  if (tooOld === undefined) return start()
  if (isAction) console.log(`::error title=Rollout Gate cannot start::${tooOld}`)
  else console.error(tooOld)
  process.exitCode = 1
}

/**
 * The error message for an old Node version, or undefined.
 * @param version as in `process.versions.node`, e.g. `20.11.1`
 * @param runner platform and architecture of the runner that chose the Node, e.g. `linux-x64`
 */
export function nodeVersionError(version: string, runner?: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return undefined
  return `Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ${updateHint(runner)}`
}

function updateHint(runner: string | undefined): string {
  if (runner === undefined) return 'Update Node.'
  // https://github.com/actions/runner/blob/main/src/Runner.Common/Util/NodeUtil.cs falls back to Node 20.
  if (runner === 'linux-arm') return 'The runner has no Node 24 for Linux on 32-bit ARM: use a runner on ARM64 or x64.'
  return 'Update the runner to 2.327.1 or newer, which contains Node 24. With act, use an image that contains it.'
}
