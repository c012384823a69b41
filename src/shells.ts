/** What the launchers start, in one bundle. */
export { runAction } from './main.ts'
