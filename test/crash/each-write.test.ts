// Kill, loss of power and a full disk at the writes of the embedded engine (short form).

import { test } from 'node:test'
import { cutPowerOften, fillDiskOften, killAtCalls } from './testing/watched-files.ts'

test('killed at any write or flush, the service keeps all it has acknowledged', (t) =>
  killAtCalls(t, 2))

test('without power, what was acknowledged is there whatever else the disk has lost', (t) =>
  cutPowerOften(t, 1))

test('with no space at any write, the service loses nothing and goes on when there is some', (t) =>
  fillDiskOften(t, 3))
