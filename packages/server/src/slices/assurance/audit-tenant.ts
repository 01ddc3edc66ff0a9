// The check `conformance`: runs the suite against this service with a short-lived credential.

import type { CheckResult, Scope } from '@custos/contract'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { type AuditMeasure, signAudit } from '../compliance/index.ts'
import { startStoreDeletion } from '../erasure/index.ts'
import { withMomentaryKey } from '../tenants/index.ts'
import { type RunRow, updateRunning } from './assurance.sql.ts'
import { notChecked } from './checks.ts'
import { type AuditResult, CheckStopped, checkerOf } from './tenant-checker.ts'

/** The scopes that the suite needs to create, fill, read and delete stores. */
const SCOPES: readonly Scope[] = ['memory:read', 'memory:write', 'memory:admin']

/** The lifetime of the credential, longer than any run takes. */
const KEY_US = 900_000_000

/** The suite takes an integer seed, so it gets the first digits of the run's seed. */
const SEED_DIGITS = 12

/** `audit` null: the suite could not run, or test anything. */
export async function auditTenant(kernel: Kernel, tenant_id: string, run: RunRow) {
  // Fails early without a signing key, which the result needs.
  kernel.keyring.signer('record')
  const audited = await runSuite(kernel, tenant_id, run)
  if (typeof audited === 'string') return { result: notChecked(audited), audit: null }
  const result = resultOf(audited.measured)
  // Nothing was tested, so the rate has no meaning and no audit is signed.
  if (audited.measured.tested === 0) return { result, audit: null }
  return { result, audit: await signAudit(kernel, tenant_id, audited) }
}

/** Runs the suite; returns its measurements, or the reason why it could not run. */
async function runSuite(
  kernel: Kernel,
  tenant_id: string,
  run: RunRow,
): Promise<AuditResult | string> {
  const notes = new Notes(kernel, tenant_id, run)
  try {
    const audited = await withMomentaryKey(
      kernel,
      { tenant_id, scopes: SCOPES, expires_us: kernel.clock.now() + KEY_US },
      (api_key) =>
        checkerOf(kernel).audit({
          api_key,
          seed: run.seed.slice(0, SEED_DIGITS),
          onStore: (store_id) => notes.add(store_id),
        }),
    )
    return audited ?? 'the service does not listen yet'
  } catch (error) {
    if (error instanceof CheckStopped) throw error
    return `the suite could not run: ${error instanceof Error ? error.name : 'unknown'}`
  } finally {
    await takeAway(kernel, tenant_id, { scratch: await notes.settled() })
  }
}

/** Stores that the suite creates, recorded at once so that the next process can remove them. */
class Notes {
  readonly #store_ids: string[] = []
  readonly #write: () => Promise<unknown>
  #last: Promise<unknown> = Promise.resolve()

  constructor(kernel: Kernel, tenant_id: string, { run_id }: RunRow) {
    this.#write = () =>
      kernel.db.transact(tenant_id, (tx) => updateRunning(tx, run_id, { scratch: this.#text }))
  }

  get #text(): string {
    return JSON.stringify(this.#store_ids)
  }

  add(store_id: string): void {
    this.#store_ids.push(store_id)
    // A failed write is made up for by the next, which writes all ids.
    this.#last = this.#last.then(this.#write).catch(() => {})
  }

  async settled(): Promise<string> {
    await this.#last
    return this.#text
  }
}

const DETAIL = 'the conformance suite over HTTP, in stores of its own'

const NOTHING_TESTED =
  'the suite could test nothing: no audit is made of it. Does a policy keep it out?'

/** Names the declared capabilities this run did not test; the signed result has the reasons. */
function untested(capabilities: AuditMeasure['capabilities']): string {
  const names = capabilities.filter(({ verdict }) => verdict === 'not_tested')
  if (names.length === 0) return ''
  return `; declared, but not tested: ${names.map(({ capability }) => capability).join(', ')}`
}

function resultOf({ capabilities, passed, tested }: AuditMeasure): CheckResult {
  const failed = capabilities.filter(({ verdict }) => verdict === 'fail')
  const of = (wanted: string) => capabilities.filter(({ verdict }) => verdict === wanted).length
  const counts = {
    passed,
    tested,
    not_tested: of('not_tested'),
    not_declared: of('not_declared'),
  }
  if (tested === 0) return { ...notChecked(NOTHING_TESTED), counts }
  const status = failed.length > 0 ? 'fail' : 'pass'
  return {
    status,
    passed: status === 'pass',
    detail: `${DETAIL}${untested(capabilities)}`,
    counts,
    findings: failed.map(({ capability }) => ({
      kind: 'capability',
      id: capability,
      what: 'is declared and does not hold',
    })),
    findings_total: failed.length,
  }
}

/** Deletes the stores that the suite left, as a caller would. The others are already gone. */
export async function takeAway(
  kernel: Kernel,
  tenant_id: string,
  { scratch }: Pick<RunRow, 'scratch'>,
): Promise<void> {
  // Written by `Notes`.
  const store_ids: string[] = scratch === null ? [] : JSON.parse(scratch)
  for (const store_id of store_ids)
    try {
      await kernel.db.transact(tenant_id, (tx) => startStoreDeletion(kernel, tx, store_id))
    } catch (error) {
      // A store that cannot be deleted, such as one on hold, does not stop the others.
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.warn('assurance.store_left', { store_id, reason })
    }
}
