/** What is known before a release. */
export interface ReleaseState {
  /** The versions by the file that has them: `package.json`, `src/version.ts` … All must be equal. */
  readonly versions: Readonly<Record<string, string>>
  /** All tags of the repository. */
  readonly tags: readonly string[]
  /** The text of CHANGELOG.md. */
  readonly changelog: string
}

/** A release, decided before anything is published. */
export interface ReleasePlan {
  /** `v1.2.3` */
  readonly tag: string
  /** The tag to move to the release, `v1`; empty for a candidate and for a patch of an older line. */
  readonly majorTag: string
  /** Whether no stable release has a higher version. */
  readonly isLatest: boolean
  readonly isPrerelease: boolean
  /** The tag of the npm package. */
  readonly npmTag: string
  /** The notes of the release, in Markdown. */
  readonly notes: string
}

type Version = readonly [major: number, minor: number, patch: number]

const versionPattern = /^(\d+)\.(\d+)\.(\d+)(-[0-9a-z.-]+)?$/i

/**
 * Plans the release of the version that the sources have.
 * @throws Error with all mistakes, one a line
 */
export function planRelease({ versions, tags, changelog }: ReleaseState): ReleasePlan {
  const mistakes: string[] = []
  const [version = '', ...others] = new Set(Object.values(versions))
  if (others.length > 0) {
    const list = Object.entries(versions).map(([file, text]) => `${text} in ${file}`)
    mistakes.push(`The versions differ: ${list.join(', ')}.`)
  }
  const own = parseVersion(version)
  if (!own) mistakes.push(`The version must look like 1.2.3 or 1.2.3-rc.1, not ${version}.`)
  const isPrerelease = version.includes('-')
  const tag = `v${version}`
  if (tags.includes(tag))
    mistakes.push(`The tag ${tag} exists. Raise the version with \`npm version --no-git-tag-version\`.`)
  // The changes of a candidate are not released yet.
  const heading = isPrerelease ? 'Unreleased' : version
  const notes = sectionOf(changelog, heading)
  if (notes === '') mistakes.push(`CHANGELOG.md has no text below the heading "## ${heading}".`)
  if (!own || mistakes.length > 0) throw new Error(mistakes.join('\n'))

  const stable = tags
    .filter((name) => name.startsWith('v') && !name.includes('-'))
    .map((name) => parseVersion(name.slice(1)))
    .filter((released) => released !== undefined)
  const isHighest = (released: readonly Version[]) => !isPrerelease && released.every((each) => compare(each, own) < 0)
  const isLatest = isHighest(stable)
  const movesMajor = isHighest(stable.filter(([major]) => major === own[0]))
  const npmTag = isPrerelease ? 'next' : isLatest ? 'latest' : `release-${own[0]}.${own[1]}`
  return { tag, majorTag: movesMajor ? `v${own[0]}` : '', isLatest, isPrerelease, npmTag, notes }
}

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = versionPattern.exec(text) ?? []
  return major && minor && patch ? [Number(major), Number(minor), Number(patch)] : undefined
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** The text below a heading of the second level, `## 1.2.3` or `## 1.2.3 - 2026-01-31`; empty if there is none. */
function sectionOf(markdown: string, heading: string): string {
  const sections = markdown.split(/^## /m).slice(1)
  const own = sections.find((section) => section.split(/\s/, 1)[0] === heading)
  return own?.slice(own.indexOf('\n') + 1).trim() ?? ''
}

/**
 * The manifest of the kubectl plugin for krew, which installs the npm package.
 * @param sha256 of the package file
 * @see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewManifest(tag: string, file: string, sha256: string): object {
  const repository = 'https://github.com/rollout-gate/rollout-gate'
  const platform = (os: string) => ({
    selector: { matchLabels: { os } },
    uri: `${repository}/releases/download/${tag}/${file}`,
    sha256,
    // The archive of npm has everything in the folder `package`.
    files: ['dist/*', 'package.json', 'LICENSE'].map((from) => ({
      from: `package/${from}`,
      to: from.startsWith('dist') ? 'dist' : '.',
    })),
    bin: 'dist/cli.js',
  })
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'rollout-gate' },
    spec: {
      version: tag,
      homepage: repository,
      shortDescription: 'Wait for rollouts and explain failures',
      description: [
        'Watches resources after kubectl apply, decides whether they become ready, and shows why not:',
        'missing images, crash loops, failing probes, missing Secrets. It only reads from the cluster.',
        '',
        '    kubectl rollout-gate wait deployment/web',
      ].join('\n'),
      caveats: 'Needs Node 22.19 or newer on the PATH.',
      platforms: ['linux', 'darwin'].map(platform),
    },
  }
}
