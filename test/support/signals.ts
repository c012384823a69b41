/** A test that sends a signal. Windows has none: there `kill()` ends a process at once, so the test is skipped. */
export const testWithSignals = process.platform === 'win32' ? test.skip : test
