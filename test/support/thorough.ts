/** Whether to run every case, as `.ci/run` does. Otherwise long series of similar cases are sampled, for a quick `npm test`. */
export const isThorough = process.env['CI'] === 'true'

/** Runs of a property test. */
export const numRuns = isThorough ? 1_000 : 100
