import {
  createMilestones,
  currentMilestone,
  loseMilestones,
  type MilestoneProgress,
  milestoneRecords,
  updateMilestones,
  waitingSince,
} from '../../src/gate/milestones.ts'
import type { Assessment, Milestone } from '../../src/lifecycle/assessment.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  modified,
  progressing,
  type RunOptions,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, is, podIs, start } from '../kit/objects.ts'

const names = ['created', 'scheduled', 'ready']

/** An assessment at this moment, of a gate that began at 0 and has seen the object before. */
const later = (now: number) => ({ now, startedAt: 0, isFirstSight: false })

function assessed(
  ...milestones: readonly (readonly [name: string, state: Milestone['state'], done?: number])[]
): Assessment {
  return {
    status: 'progressing',
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

describe('milestones', () => {
  it('are reached in their order', () => {
    const assessment = assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'done'])
    const { reached, progress } = updateMilestones(createMilestones(names), assessment, later(5))
    expect(reached.map(({ name }) => name)).toEqual(['created'])
    expect(currentMilestone(progress)).toBe('scheduled')
    expect(waitingSince(progress)).toBe(5)
  })

  it('stay reached while their target progresses', () => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open']))
    const again = updateMilestones(
      progress,
      assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']),
      later(9),
    )
    expect(again).toMatchObject({ reached: [], moved: false })
    expect(milestoneRecords(again.progress, 'open')[1]).toEqual({
      name: 'scheduled',
      state: 'done',
      at: 5,
      message: '',
    })
  })

  it('that are skipped are passed and not reported as reached', () => {
    const assessment = assessed(['created', 'done'], ['scheduled', 'skipped'], ['ready', 'done'])
    const { reached, progress } = updateMilestones(createMilestones(names), assessment, later(5))
    expect(reached.map(({ name }) => name)).toEqual(['created', 'ready'])
    expect(milestoneRecords(progress, 'ready')[1]).toEqual({
      name: 'scheduled',
      state: 'skipped',
      message: 'scheduled',
    })
  })

  it('that were never reached are skipped once their target is ready', () => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']))
    expect(milestoneRecords(progress, 'ready').map(({ state }) => state)).toEqual(['done', 'skipped', 'skipped'])
    expect(milestoneRecords(progress, 'open').map(({ state }) => state)).toEqual(['done', 'current', 'pending'])
  })

  it('progress only with a counter that exceeds its highest count', () => {
    let progress = createMilestones(names)
    const moves = [1, 1, 0, 1, 2].map((done) => {
      const update = updateMilestones(progress, assessed(['created', 'open'], ['scheduled', 'open', done]), later(5))
      progress = update.progress
      return update.moved
    })
    expect(moves).toEqual([true, false, false, false, true])
  })

  it('progress with any other counter of the assessment that exceeds its highest count', () => {
    let progress = createMilestones(names)
    const moves = [1, 2, 2, 0, 2, 3].map((step) => {
      const counters = new Map([['status.currentStepIndex', step]])
      const update = updateMilestones(progress, { ...assessed(['created', 'open']), counters }, later(5))
      progress = update.progress
      return update.moved
    })
    expect(moves).toEqual([true, true, false, false, false, true])
  })

  it('progress from their present counts once fewer pods are wanted, as after a scale by an autoscaler', () => {
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

  it('are lost from the first that is open when their target falls back', () => {
    const ready = progressAfter(assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'done', 3]))
    const fallen = assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open', 2])
    const { progress } = updateMilestones(loseMilestones(ready, fallen, 9), fallen, later(9))
    expect(currentMilestone(progress)).toBe('ready')
    const again = assessed(['created', 'done'], ['scheduled', 'done'], ['ready', 'open', 3])
    expect(updateMilestones(progress, again, later(12)).moved).toBe(true)
  })

  it.each([
    ['open', 'current'],
    ['failed', 'failed'],
  ] as const)('of a target that is %s show the present one as %s', (end, state) => {
    const progress = progressAfter(assessed(['created', 'done'], ['scheduled', 'open'], ['ready', 'open']))
    expect(milestoneRecords(progress, end)).toEqual([
      { name: 'created', state: 'done', at: 5, message: 'created' },
      { name: 'scheduled', state, message: 'scheduled' },
      { name: 'ready', state: 'pending', message: '' },
    ])
  })
})

const web = createWorkload('web')

describe('the moment of a milestone', () => {
  it("is the gate's start for milestones that were done at first sight", () => {
    const [created, observed] = run([at(2.5, web.done, allSynced)]).record.targets[0]?.milestones ?? []
    expect([created?.at, observed?.at]).toEqual([start, start])
  })

  it('is when it was reached, for other objects', () => {
    const steps = [
      at(0.3, allSynced),
      at(2.5, added(web.deployment())),
      at(3, modified(web.deployment(progressing)), added(web.replicaSet)),
    ]
    const moments = run(steps).record.targets[0]?.milestones.map((each) => [
      each.name,
      each.at && (each.at - start) / 1000,
    ])
    expect(moments?.slice(0, 4)).toEqual([
      ['created', 2.5],
      ['observed', 3],
      ['replicaset', 3],
      ['scheduled', undefined],
    ])
  })
})

describe('the milestones of a target', () => {
  const states = (...steps: Parameters<typeof run>[0]) =>
    run(steps).record.targets[0]?.milestones.map(({ state }) => state)
  const done = (count: number) => Array.from({ length: count }, () => 'done')

  it('are all done when it is ready', () => {
    expect(states(at(0, web.done, allSynced))).toEqual(done(9))
  })

  it('have failed where it ended', () => {
    const broken = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })
    expect(states(at(0, web.creating, allSynced), at(1, modified(web.pod(broken))))).toEqual([
      ...done(4),
      'failed',
      ...['pending', 'pending', 'pending', 'pending'],
    ])
  })

  it('go on where the gate ended without it', () => {
    const { record } = run([at(0, web.creating, allSynced), at(1, { type: 'CANCEL' })])
    expect(record.targets[0]?.milestones[4]).toMatchObject({ name: 'pulled', state: 'current' })
  })
})

describe('milestone-timeouts', () => {
  const limits = (milestoneTimeoutsMs: Record<string, number>, rest: RunOptions = {}): RunOptions => ({
    ...rest,
    settings: { milestoneTimeoutsMs },
  })

  it('of created fails an object that does not exist', () => {
    expect(run([at(0, allSynced)])).toMatchObject({
      outcome: 'failed',
      reason: 'not-found',
      seconds: 30,
      message: 'deployment/web does not exist, 30 s after the gate began',
    })
  })

  it('of created does not apply to an object that exists and cannot be judged yet', () => {
    const steps = [
      at(1, added(web.deployment()), synced('Deployment')),
      at(60, added(web.replicaSet, web.pod(podIs.ready(40))), modified(web.deployment(complete())), allSynced),
    ]
    expect(run(steps, { live: true })).toMatchObject({ outcome: 'ready', seconds: 60 })
  })

  it('run from the previous milestone, and end as timed out', () => {
    const steps = [
      at(0, added(web.deployment()), allSynced),
      at(40, modified(web.deployment(progressing)), added(web.replicaSet)),
    ]
    expect(run(steps, limits({ scheduled: 20_000 }))).toMatchObject({
      outcome: 'timed-out',
      reason: 'still-running',
      seconds: 60,
      message: 'deployment/web did not reach "scheduled" in 20 s: 0 of 1 pod scheduled',
      entries: expect.arrayContaining([
        '60 verdict did not reach "scheduled" in 20 s: 0 of 1 pod scheduled (still-running)',
      ]),
    })
  })

  it('end a target with its first problem as the reason', () => {
    const stuck = podIs.unready({ state: is.waiting('ErrImagePull', 'connection refused') }, { phase: 'Pending' })
    const steps = [at(0, added(web.deployment(progressing), web.replicaSet, web.pod(stuck)), allSynced)]
    expect(run(steps, limits({ pulled: 20_000 }))).toMatchObject({
      outcome: 'timed-out',
      reason: 'image-registry-unreachable',
      seconds: 20,
    })
  })

  it('do not end a milestone that was reached in time', () => {
    const steps = [
      at(0, web.creating, allSynced),
      at(19, modified(web.pod(podIs.unready({ imageID: 'x' }, { phase: 'Pending' })))),
      at(50, modified(web.pod(podIs.ready(50)), web.deployment(complete()))),
    ]
    expect(run(steps, limits({ pulled: 20_000 }))).toMatchObject({ outcome: 'ready', seconds: 60 })
  })

  it('of 0 are off', () => {
    expect(run([at(0, allSynced)], limits({ created: 0 }))).toMatchObject({ outcome: 'stalled', seconds: 300 })
  })

  it("of a reference go before the gate's", () => {
    const targets = [createTarget({ clocks: { milestoneTimeoutsMs: { created: 50_000 } } })]
    expect(run([at(0, allSynced)], { targets })).toMatchObject({ reason: 'not-found', seconds: 50 })
  })

  it("of a reference replace only the gate's times of the same milestones", () => {
    const targets = [createTarget({ clocks: { milestoneTimeoutsMs: { ready: 50_000 } } })]
    expect(run([at(0, allSynced)], { targets })).toMatchObject({ reason: 'not-found', seconds: 30 })
  })

  it('run again for a milestone that was lost, from the moment of the loss', () => {
    const api = createWorkload('api')
    const lost = podIs.unready({ state: is.running(-60) })
    const steps = [
      at(0, web.done, api.creating, allSynced),
      at(40, modified(web.pod(lost), web.deployment(progressing))),
    ]
    const { targets } = run(steps, limits({ ready: 20_000 }, { targets: [web.target, api.target] }))
    expect(targets[0]).toMatchObject({ outcome: 'timed-out', reason: 'still-running', seconds: 60 })
  })
})

describe("a reference's own timeout", () => {
  it('ends this target, with its problem', () => {
    const targets = [createTarget({ clocks: { timeoutMs: 20_000 } })]
    const steps = [at(0, web.creating, allSynced), at(5, modified(web.pod(podIs.looping(1, 4))))]
    expect(run(steps, { targets })).toMatchObject({ outcome: 'timed-out', reason: 'crash-loop', seconds: 20 })
  })

  it('of 0 is off', () => {
    const targets = [createTarget({ clocks: { timeoutMs: 0 } })]
    expect(run([at(0, web.creating, allSynced)], { targets })).toMatchObject({ outcome: 'stalled', seconds: 300 })
  })

  describe("and the gate's timeout", () => {
    const own = (timeoutMs: number) => createTarget({ clocks: { timeoutMs } })
    const settings = { stallTimeoutMs: 0 }
    const steps = [at(0, web.creating, allSynced)]

    it('by default is as long as the longest of the references', () => {
      const ended = run(steps, { targets: [own(1_200_000)], settings })
      expect(ended).toMatchObject({ outcome: 'timed-out', seconds: 1_200 })
      expect(ended.record.timeoutMs).toBe(1_200_000)
    })

    it('that the user set ends every target', () => {
      const written = { ...settings, timeoutIsLiteral: true }
      expect(run(steps, { targets: [own(1_200_000)], settings: written }).seconds).toBe(600)
    })

    it('that is longer stays, and then other targets may take as long', () => {
      const api = createWorkload('api')
      const both = [at(0, web.creating, api.creating, allSynced)]
      const ended = run(both, { targets: [own(300_000), api.target], settings: { ...settings, failFast: false } })
      expect(ended.targets.map(({ seconds }) => seconds)).toEqual([300, 600])
    })

    it('is off if a reference turns its own off', () => {
      const { outcome, record } = runUntil(100_000, steps, { targets: [own(0)], settings })
      expect(outcome).toBeUndefined()
      expect(record.timeoutMs).toBe(0)
    })
  })
})
