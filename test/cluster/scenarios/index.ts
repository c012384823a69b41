import type { Scenario } from '../scenario.ts'
import { clocks } from './clocks.ts'
import { failing } from './failing.ts'
import { healthy } from './healthy.ts'
import { overtaken } from './overtaken.ts'
import { shell } from './shell.ts'

/** Every scenario, in the order of the table. */
export const scenarios: readonly Scenario[] = [...healthy, ...failing, ...clocks, ...overtaken, ...shell]
