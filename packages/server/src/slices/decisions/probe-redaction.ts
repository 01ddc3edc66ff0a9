// The verification pass of a redaction: every way a decision is read shows the marker only.

import type { Decision } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { whenSettled } from './open.ts'
import type { Probed } from './probe.ts'
import { findRow, findShown, showPage } from './reads.ts'
import { MARKER } from './redaction.ts'
import { replayRow } from './replay.ts'

/** `scrubbed`, or `absent` when these data have no such decision, on each path. */
export async function probeRedaction(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<{ path: string; result: Probed['result'] | 'scrubbed' }[]> {
  const got = await findShown(kernel, tenant_id, decision_id)
  const read = await whenSettled(() =>
    kernel.db.read(tenant_id, async (db) => {
      const row = await findRow(db, decision_id)
      if (!row) return undefined
      const range = { after_seq: row.seq - 1, before_seq: row.seq + 1 }
      const [listed, exported] = [
        await showPage(kernel, db, range, { order: 'desc', limit: 1 }),
        await showPage(kernel, db, range, { order: 'asc', limit: 1 }),
      ]
      const replayed = await replayRow(kernel, db, row)
      return { listed: listed.shown[0], exported: exported.shown[0], replayed: replayed?.decision }
    }),
  )
  return [
    { path: 'decisions.get', result: resultOf(got) },
    { path: 'decisions.list', result: resultOf(read?.listed) },
    { path: 'decisions.export', result: resultOf(read?.exported) },
    { path: 'decisions.replay', result: resultOf(read?.replayed) },
  ]
}

function resultOf(decision: Decision | undefined): 'absent' | 'scrubbed' | 'present' {
  if (!decision) return 'absent'
  const { query, output, parameters, session_id } = decision
  const shown = [parameters, session_id].some((value) => value !== null)
  return query === MARKER && output === MARKER && !shown ? 'scrubbed' : 'present'
}
