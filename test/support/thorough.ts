/** Whether to run every case, as in `.ci/run`. By default long series of similar cases are sampled, for speed. */
export const isThorough = process.env['CI'] === 'true'

/**
 * Parameters of a property test. Each run has the same random cases, so a new failure is the fault of a change, not of
 * new cases; `SEED=1 CI=true npm test -- property fuzz` has others.
 */
export const parameters = { numRuns: isThorough ? 1_000 : 100, seed: Number(process.env['SEED'] ?? 20_250_115) }
