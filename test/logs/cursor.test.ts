import { Cursor } from '../../src/logs/cursor.ts'

const at = (seconds: number) => 1_700_000_000_000 + seconds * 1000

/** Reads lines as a kubelet gives them from the cursor's moment on, and says which of them are new. */
function read(cursor: Cursor, written: readonly number[]): number[] {
  cursor.reopen()
  const since = Math.floor(cursor.since / 1000) * 1000
  return written.filter((time) => time >= since).filter((time) => cursor.takes(time))
}

test('what was written before the moment of interest is not asked for', () => {
  expect(new Cursor(at(5)).since).toBe(at(5))
})

test('a log that is opened anew goes on behind the last line, whichever lines bear its time', () => {
  const cursor = new Cursor(at(0))
  const written = [at(1), at(1.2), at(1.2), at(1.2), at(1.9)]
  expect(read(cursor, written.slice(0, 3))).toHaveLength(3)
  expect(read(cursor, written)).toEqual([at(1.2), at(1.9)])
  expect(read(cursor, written)).toEqual([])
})

test('a stream that breaks among lines that were there before loses none of the later ones', () => {
  const cursor = new Cursor(at(0))
  const written = [at(1), at(1.1), at(1.2), at(1.3)]
  read(cursor, written.slice(0, 3))
  read(cursor, written.slice(0, 1))
  expect(read(cursor, written)).toEqual([at(1.3)])
})

test('lines of stdout and stderr that are out of order are neither lost nor repeated', () => {
  const cursor = new Cursor(at(0))
  const written = [at(1.5), at(2.1), at(1.9), at(2.05), at(2.04)]
  expect(read(cursor, written.slice(0, 4))).toHaveLength(4)
  expect(read(cursor, written)).toEqual([at(2.04)])
})

test('after the file was rotated away, the lines of the new one are new', () => {
  const cursor = new Cursor(at(0))
  read(cursor, [at(1.1), at(1.2)])
  const later = [at(1.3), at(1.3), at(1.4), at(1.15)]
  expect(read(cursor, later)).toEqual(later)
})

test('the lines of the next run are new, also within the same second', () => {
  const cursor = new Cursor(at(0))
  read(cursor, [at(1.1), at(1.2)])
  expect(read(cursor, [at(1.6), at(1.7)])).toEqual([at(1.6), at(1.7)])
})
