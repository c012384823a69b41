/** Whether to run every case, as in `.ci/run`. By default long series of similar cases are sampled, for speed. */
export const isThorough = process.env['CI'] === 'true'

/** Runs of a property test. */
export const numRuns = isThorough ? 1_000 : 100
