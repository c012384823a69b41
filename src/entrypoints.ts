/** The functions that the launchers `index.ts` and `cli.ts` start, in one bundle. */
export { runAction } from './action.ts'
export { runCli } from './cli/main.ts'
