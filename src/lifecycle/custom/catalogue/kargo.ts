import type { CatalogueGroup } from './entry.ts'
import { allOf, anyOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/akuity/kargo/blob/main'

/** Kargo. */
export const kargo: CatalogueGroup = {
  group: 'kargo.akuity.io',
  entries: [
    {
      kind: 'Promotion',
      documentation: `${source}/api/v1alpha1/promotion_types.go`,
      // A step is repeated within its error threshold and timeout; then the Promotion ends, and is not repeated.
      current: `status.phase == 'Succeeded'`,
      failed: `status.phase in ['Failed', 'Errored', 'Aborted']`,
      cause: [
        `status.message`,
        `status.stepExecutionMetadata.filter(s, s.status != 'Succeeded' && s.?message.orValue('') != '').map(s, s.alias + ': ' + s.message)`,
      ],
    },
    {
      kind: 'Stage',
      documentation: `${source}/pkg/controller/stages/regular_stages.go`,
      // Ready=False is written for the present generation also if it is about the last Promotion, which may be older. The
      // condition Reconciling stays True until the Stage is Ready, so it does not stop the stall clock.
      current: isTrue('Ready'),
      stallHold: anyOf(
        isTrue('Promoting'),
        hasCondition('Verified', `c.status == 'Unknown'`, `c.reason == 'VerificationRunning'`),
      ),
      cause: [messageOf('Ready')],
    },
    {
      kind: 'Warehouse',
      documentation: `${source}/pkg/controller/warehouses/warehouses.go`,
      // Reconciling stays True after a discovery that failed, which is repeated.
      current: isTrue('Ready'),
      stallHold: allOf(isTrue('Reconciling'), `!${isFalse('Healthy')}`),
      cause: [messageOf('Ready')],
    },
  ],
}
