import { krewManifest, planRelease, type ReleaseState } from '../scripts/release-plan.ts'

const changelog = `# Changelog

## Unreleased

- Being worked on

## 2.0.0 - 2026-03-01

- New

## 1.2.10 - 2026-02-01

- Fixed

### For contributors

- Simpler

## 1.2.1

## 1.2.0 - 2025-12-01

- Older
`

const plan = (version: string, tags: readonly string[] = [], overrides: Partial<ReleaseState> = {}) =>
  planRelease({ versions: { 'package.json': version }, tags, changelog, ...overrides })

describe('the tags of a release', () => {
  it.each([
    ['of the first version are latest and a major tag', '1.2.0', [], 'v1', true, 'latest'],
    ['of a patch move latest and the major tag', '1.2.10', ['v1', 'v1.2.0', 'v1.2.9'], 'v1', true, 'latest'],
    ['of a new major version do not move the older major tag', '2.0.0', ['v1', 'v1.2.10'], 'v2', true, 'latest'],
    ['of a patch for an older line move no tag', '1.2.10', ['v1', 'v1.3.0'], '', false, 'release-1.2'],
    [
      'of a patch for an older major version move only its major tag',
      '1.2.10',
      ['v1.2.9', 'v2.0.0'],
      'v1',
      false,
      'release-1.2',
    ],
    ['compare versions as numbers', '1.2.10', ['v1.2.9'], 'v1', true, 'latest'],
    ['ignore a higher release candidate for latest', '1.2.10', ['v1.3.0-rc.1'], 'v1', true, 'latest'],
    ['of a release candidate move no tag', '2.0.0-rc.1', ['v1.2.0'], '', false, 'next'],
    ['ignore other tags', '1.2.0', ['nightly', 'v9', 'v1.x', '9.9.9', ''], 'v1', true, 'latest'],
  ] as const)('%s', (_, version, tags, majorTag, isLatest, npmTag) => {
    expect(plan(version, tags)).toMatchObject({ tag: `v${version}`, majorTag, isLatest, npmTag })
  })
})

describe('the release notes', () => {
  it('are the section of the version, up to the next version', () => {
    expect(plan('1.2.10').notes).toBe('- Fixed\n\n### For contributors\n\n- Simpler')
    expect(plan('1.2.0').notes).toBe('- Older')
  })

  it('of a release candidate are the section Unreleased', () => {
    expect(plan('2.0.0-rc.1')).toMatchObject({ isPrerelease: true, notes: '- Being worked on' })
  })
})

describe('a release is rejected', () => {
  it.each([
    ['if its tag exists', '1.2.0', ['v1.2.0'], /The tag v1\.2\.0 exists/],
    ['if the changelog lacks its section', '1.2.2', [], /no text below the heading "## 1\.2\.2"/],
    ['if its section is empty', '1.2.1', [], /no text below the heading "## 1\.2\.1"/],
    [
      'if the changelog has only a version with the same prefix',
      '1.2',
      [],
      /must look like 1\.2\.3 or 1\.2\.3-rc\.1, not 1\.2\./,
    ],
  ])('%s', (_, version, tags, message) => {
    expect(() => plan(version, tags)).toThrow(message)
  })

  it('with all mistakes at once', () => {
    const versions = { 'package.json': '1.2.3', 'src/version.ts': '1.2.2' }
    expect(() => plan('', ['v1.2.3'], { versions })).toThrow(
      [
        'The versions differ: 1.2.3 in package.json, 1.2.2 in src/version.ts.',
        'The tag v1.2.3 exists. Raise the version with `npm version --no-git-tag-version`.',
        'CHANGELOG.md has no text below the heading "## 1.2.3".',
      ].join('\n'),
    )
  })
})

test('the kubectl plugin is the package of the release', () => {
  const manifest = krewManifest('v1.2.3', 'rollout-gate-1.2.3.tgz', 'abc')
  const uri = 'https://github.com/rollout-gate/rollout-gate/releases/download/v1.2.3/rollout-gate-1.2.3.tgz'
  expect(manifest).toMatchObject({ spec: { version: 'v1.2.3', platforms: [{ uri, sha256: 'abc' }, { uri }] } })
})
