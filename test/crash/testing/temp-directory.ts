// A directory of its own for a test, removed at its end.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export function tempDirectory(t: TestContext, name = 'custos-crash-'): string {
  const dir = mkdtempSync(join(tmpdir(), name))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
