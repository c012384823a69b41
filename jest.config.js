import { availableParallelism } from 'node:os'

/** Tests import the TypeScript sources as ES modules; swc strips the types, and nothing is mocked. */
export default {
  // A worker loads the sources once, for all of its test files.
  testEnvironment: './test/support/environment.ts',
  runtime: '<rootDir>/test/support/runtime.ts',
  reporters: ['default', './test/support/test-names.ts'],
  // Only for tests that hang; long enough for a busy machine.
  testTimeout: 60_000,
  extensionsToTreatAsEsm: ['.ts'],
  // More than the machine has cores: tests of programs wait for half of their time. Jest takes no percentage above 100.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // A worker keeps the modules of its earlier tests. With 1 GB it takes a second to exit, and jest reports that it hangs.
  workerIdleMemoryLimit: '400MB',
  // `npm run coverage`: the rules and the state machine, on which verdicts rest.
  collectCoverageFrom: ['src/gate/**/*.ts', 'src/lifecycle/**/*.ts'],
  coverageProvider: 'v8',
  coverageReporters: ['html', 'text-summary', ['text', { skipFull: true }]],
  coverageThreshold: { './src/gate/': { branches: 95 }, './src/lifecycle/': { branches: 95 } },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' }, swcrc: false },
    ],
  },
}
