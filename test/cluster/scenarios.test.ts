import { coreOfScenarios, scenarios } from './scenarios/index.ts'

test('The core that runs on each version of Kubernetes has 60 different scenarios, none with a fault of a component', () => {
  const core = coreOfScenarios()
  expect(new Set(core.map(({ name }) => name)).size).toBe(60)
  expect(core.filter((each) => each.fault !== undefined)).toEqual([])
  expect(scenarios).toEqual(expect.arrayContaining([...core]))
})
