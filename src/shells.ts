/** What the launchers start, in one bundle; each shell loads only what it needs. */

export async function runAction(): Promise<void> {
  await (await import('./main.ts')).runAction()
}

export async function runCli(): Promise<void> {
  await (await import('./cli/main.ts')).runCli()
}
