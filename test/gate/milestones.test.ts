import {
  createMilestones,
  currentMilestone,
  loseMilestones,
  type MilestoneProgress,
  updateMilestones,
  waitingSince,
} from '../../src/gate/milestones.ts'
import { milestoneRecords } from '../../src/gate/target-record.ts'
import type { Assessment, Milestone } from '../../src/lifecycle/assessment.ts'

const names = ['created', 'scheduled', 'ready']

/** An assessment at this moment, of a gate that began at 0 and has seen the object before. */
const later = (now: number) => ({ now, startedAt: 0, isFirstSight: false })

function assessed(
  ...milestones: readonly (readonly [name: string, state: Milestone['state'], done?: number])[]
): Assessment {
  return {
    ready: false,
    message: '',
    problems: [],
    notes: [],
    milestones: milestones.map(([name, state, done]) => ({
      name,
      state,
      message: name,
      ...(done === undefined ? {} : { count: { done, total: 3 } }),
    })),
  }
}

/** The progress after these assessments, the last of them at 9 s, the others at 5. */
function progressAfter(...assessments: readonly Assessment[]): MilestoneProgress {
  return assessments.reduce(
    (progress, assessment, index) =>
      updateMilestones(progress, assessment, later(index > 0 && index === assessments.length - 1 ? 9 : 5)).progress,
    createMilestones(names),
  )
}

describe('a milestone', () => {
  it('is reached only after the milestones before it', () => {
    const assessment = assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'done'])
    const { reached, progress } = updateMilestones(createMilestones(names), assessment, later(5))
    expect(reached.map(({ name }) => name)).toEqual(['created'])
    expect(currentMilestone(progress)).toBe('scheduled')
    expect(waitingSince(progress)).toBe(5)
  })

  it('stays reached while its target progresses', () => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open']))
    const again = updateMilestones(
      progress,
      assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']),
      later(9),
    )
    expect(again).toMatchObject({ reached: [], moved: false })
    expect(milestoneRecords(again.progress, 'progressing')[1]).toEqual({
      name: 'scheduled',
      state: 'done',
      at: 5,
      message: '',
    })
  })

  it('that is skipped is passed and not reported as reached', () => {
    const assessment = assessed(['created', 'done'], ['scheduled', 'skipped'], ['ready', 'done'])
    const { reached, progress } = updateMilestones(createMilestones(names), assessment, later(5))
    expect(reached.map(({ name }) => name)).toEqual(['created', 'ready'])
    expect(milestoneRecords(progress, 'ready')[1]).toEqual({
      name: 'scheduled',
      state: 'skipped',
      message: 'scheduled',
    })
  })

  it('that was never reached is skipped once its target is ready', () => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']))
    expect(milestoneRecords(progress, 'ready').map(({ state }) => state)).toEqual(['done', 'skipped', 'skipped'])
    expect(milestoneRecords(progress, 'progressing').map(({ state }) => state)).toEqual(['done', 'current', 'pending'])
  })

  it('has progress only if its counter exceeds the highest earlier count', () => {
    let progress = createMilestones(names)
    const moves = [1, 1, 0, 1, 2].map((done) => {
      const update = updateMilestones(progress, assessed(['created', 'open'], ['scheduled', 'open', done]), later(5))
      progress = update.progress
      return update.moved
    })
    expect(moves).toEqual([true, false, false, false, true])
  })

  it('has progress if another counter of the assessment exceeds its highest count', () => {
    let progress = createMilestones(names)
    const moves = [1, 2, 2, 0, 2, 3].map((step) => {
      const counters = new Map([['status.currentStepIndex', step]])
      const update = updateMilestones(progress, { ...assessed(['created', 'open']), counters }, later(5))
      progress = update.progress
      return update.moved
    })
    expect(moves).toEqual([true, true, false, false, false, true])
  })

  it('counts progress from the present count after a scale-down', () => {
    const counted = (done: number, total: number): Assessment => ({
      ...assessed(['created', 'done']),
      milestones: [{ name: 'ready', state: 'open', message: '', count: { done, total } }],
    })
    const scaled = updateMilestones(progressAfter(counted(6, 20)), counted(3, 8), later(9))
    expect(scaled.moved).toBe(false)
    expect(updateMilestones(scaled.progress, counted(4, 8), later(10)).moved).toBe(true)
    const grown = updateMilestones(progressAfter(counted(6, 8)), counted(3, 20), later(9))
    expect(updateMilestones(grown.progress, counted(4, 20), later(10)).moved).toBe(false)
  })

  it('is lost if an earlier milestone is open again', () => {
    const ready = progressAfter(assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'done', 3]))
    const fallen = assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open', 2])
    const { progress } = updateMilestones(loseMilestones(ready, fallen, 9), fallen, later(9))
    expect(currentMilestone(progress)).toBe('ready')
    const again = assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open', 3])
    expect(updateMilestones(progress, again, later(12)).moved).toBe(true)
  })

  it.each([
    ['progressing', 'current'],
    ['failed', 'failed'],
  ] as const)('of a target that is %s show the present one as %s', (outcome, state) => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']))
    expect(milestoneRecords(progress, outcome)).toEqual([
      { name: 'created', state: 'done', at: 5, message: 'created' },
      { name: 'scheduled', state, message: 'scheduled' },
      { name: 'ready', state: 'pending', message: '' },
    ])
  })
})
