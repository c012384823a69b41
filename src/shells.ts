/** What the launchers start, in one bundle. */
export { runCli } from './cli/main.ts'
export { runAction } from './main.ts'
