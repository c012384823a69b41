/** The functions that the launchers `index.ts` and `cli.ts` start, in one bundle. */
export { runAction } from './action.ts'

/** Runs the command line, which the action does not load. */
export async function runCli(): Promise<void> {
  await (await import('./cli/main.ts')).runCli()
}
