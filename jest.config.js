/** Tests run the TypeScript sources as ES modules: swc strips the types, nothing is bundled or mocked. */
export default {
  testEnvironment: 'node',
  // A limit for what hangs, not for what is slow on a busy machine.
  testTimeout: 60_000,
  extensionsToTreatAsEsm: ['.ts'],
  globalSetup: '<rootDir>/test/support/program.ts',
  maxWorkers: '100%',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' }, swcrc: false },
    ],
  },
}
