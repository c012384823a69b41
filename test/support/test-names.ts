const wrong: Readonly<Record<string, (name: string) => boolean>> = {
  'longer than 160 characters': (name) => name.length > 160,
  'a value that is not set': (name) => /\bundefined\b|\[object Object\]/.test(name),
  'a value as JSON': (name) => name.includes('{"'),
  'a placeholder': (name) => name.includes('%'),
}

interface Results {
  readonly testResults: readonly { readonly testResults: readonly { readonly fullName: string }[] }[]
}

/** Fails a run in which a full name of a test occurs twice, or is no sentence to read. `-t` chooses one test by its name. */
export default class TestNames {
  private error: Error | undefined

  onRunComplete(_: unknown, { testResults }: Results): void {
    const names = testResults.flatMap((file) => file.testResults.map(({ fullName }) => fullName))
    const seen = new Set<string>()
    const mistakes = names.flatMap((name) => {
      const found = Object.keys(wrong).filter((each) => wrong[each]?.(name))
      if (seen.has(name)) found.push('the name of another test too')
      seen.add(name)
      return found.length === 0 ? [] : `  ${name.slice(0, 200)}: ${found.join(', ')}`
    })
    if (mistakes.length === 0) return
    // As a failed test is printed, so that it is among the failures that `.ci/run` prints last.
    const message = [`● ${mistakes.length} names of tests are wrong:`, ...mistakes.slice(0, 20)].join('\n')
    this.error = new Error(message)
    process.stderr.write(`\n${message}\n`)
  }

  getLastError(): Error | undefined {
    return this.error
  }
}
