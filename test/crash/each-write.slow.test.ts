// The long form: kill at each of the first writes, many losses of power, many full disks.

import { test } from 'node:test'
import { longRounds } from '../../packages/server/src/testing/sweep.ts'
import { cutPowerOften, fillDiskOften, killAtCalls } from './testing/watched-files.ts'

test('killed at each write or flush, the service keeps all it has acknowledged', (t) =>
  killAtCalls(t, longRounds(300)))

test('without power, again and again, what was acknowledged is there', (t) =>
  cutPowerOften(t, longRounds(100)))

test('with no space, again and again, the service loses nothing', (t) =>
  fillDiskOften(t, longRounds(200)))
