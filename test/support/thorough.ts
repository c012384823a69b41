/** Whether to run many more cases, as in `.ci/run`. By default long series of similar cases are sampled, for speed. */
export const isThorough = process.env['CI'] === 'true'

/** How many times as many cases are run with `CI=true`. */
const factor = isThorough ? 8 : 1

/** Every nth case, with `CI=true` up to eight times as many. Series with other offsets have other cases. */
export function sampled<Case>(cases: readonly Case[], every: number, offset = 0): readonly Case[] {
  const step = Math.max(1, Math.round(every / factor))
  return cases.filter((_, index) => index % step === offset % step)
}

/** Parameters of a property test with this number of runs, with `CI=true` eight times as many. */
export const runs = (count: number) => ({
  numRuns: count * factor,
  // Each run has the same random cases, so a new failure is the fault of a change, not of new cases;
  // `SEED=1 CI=true npm test -- property fuzz` has others.
  seed: Number(process.env['SEED'] ?? 20_250_115),
})

/** Parameters of a property test. */
export const parameters = runs(60)
