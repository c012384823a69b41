/* Checks the version of Node before a launcher loads any other file. */

/** The minimum Node version that the dependencies need, as `engines` in package.json. */
const needed = { major: 22, minor: 19 }

/**
 * Starts the program. If Node is too old, reports the required version instead, and fails.
 *
 * The launchers import only this file statically, because other files may fail to load on an older Node. Use no syntax
 * or API that is newer than Node 16 here.
 * @param isAction whether GitHub's runner chose the Node: then the error is an annotation
 */
export async function startOnCurrentNode(start: () => Promise<void>, isAction = false): Promise<void> {
  const tooOld = nodeVersionError(process.versions.node, isAction ? `${process.platform}-${process.arch}` : undefined)
  if (tooOld === undefined) return start()
  if (isAction) console.log(`::error title=Rollout Gate cannot start::${tooOld}`)
  else console.error(tooOld)
  process.exitCode = 1
}

/**
 * The error message for a Node version that is too old; undefined for any other version.
 * @param version as in `process.versions.node`: `20.11.1`
 * @param runner platform and architecture of the runner that chose the Node: `linux-x64`
 */
export function nodeVersionError(version: string, runner?: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return undefined
  return `Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ${updateHint(runner)}`
}

function updateHint(runner: string | undefined): string {
  if (runner === undefined) return 'Update Node.'
  // On this platform the runner falls back to Node 20: actions/runner, src/Runner.Common/Util/NodeUtil.cs
  if (runner === 'linux-arm') return 'The runner has no Node 24 for Linux on 32-bit ARM: use a runner on ARM64 or x64.'
  return 'Update the runner to 2.327.1 or newer, which contains Node 24. With act, use an image that contains it.'
}
