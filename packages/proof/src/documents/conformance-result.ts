// Signed results of the conformance suite: their shape and their offline verification.

import type { JsonObject } from '../core/canonical.ts'
import { readHex, toBase64 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, isTextList } from '../core/shape.ts'
import { signedBytes, tryBytes } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'

/** The `record_kind` of a result. The domain of its signature is `custos/conformance_result/v1`. */
export const CONFORMANCE_KIND = 'conformance_result'
/** The purpose of the published key with which a service signs its own results. */
export const CONFORMANCE_PURPOSE = 'record'

/** The ten capabilities of the protocol. A result has a verdict on each, in this order. */
export const CONFORMANCE_CAPABILITIES = [
  'audit',
  'supersession_chain',
  'bi_temporal',
  'hard_delete',
  'multi_tenant',
  'provenance',
  'cryptographic_provenance',
  'cross_session_propagation',
  'conflict_detection',
  'concurrency_control',
] as const

const VERDICTS: readonly unknown[] = ['pass', 'fail', 'not_declared', 'not_tested']

const SHAPE = {
  record_kind: (value: unknown) => value === CONFORMANCE_KIND,
  suite_version: isText,
  seed: isCount,
  url_origin: isText,
  started_at: isText,
  completed_at: isText,
  store_ids: isTextList,
  declared_capabilities: isTextList,
  capabilities: Array.isArray,
  passed: isCount,
  tested: isCount,
  conformance_rate: (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
  workload_digest: (value: unknown) => readHex(value)?.length === 32,
}
const CAPABILITY_SHAPE = {
  capability: isText,
  verdict: (value: unknown) => VERDICTS.includes(value),
  checks: Array.isArray,
}
const CHECK_SHAPE = {
  name: isText,
  passed: (value: unknown) => typeof value === 'boolean',
  detail: isText,
}

/** The part of a result that is recomputed: one capability with the results of its checks. */
type CapabilityVerdict = {
  readonly capability: unknown
  readonly verdict: unknown
  readonly outcomes: readonly boolean[]
}

/**
 * Verifies a signed result: the key was known at the time, each capability has a verdict, the
 * verdicts follow from their checks and the rate follows from the verdicts. The record cannot prove
 * that the server behaved so; anybody can run the suite again with its seed. Never throws.
 */
export async function verifyConformanceResult(
  value: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(value)) return malformedVerdict(CONFORMANCE_KIND, 'not an object')
  const misfit = findMismatch(value, SHAPE)
  if (misfit !== null) return malformedVerdict(CONFORMANCE_KIND, misfit)
  const judged = readCapabilities(value['capabilities'])
  if (judged === null) return malformedVerdict(CONFORMANCE_KIND, 'capabilities')
  const message = tryBytes(() => signedBytes(CONFORMANCE_KIND, value))
  if (message === null) return malformedVerdict(CONFORMANCE_KIND, 'no canonical form')

  const findings = startVerdict()
  const shown = value['signed_bytes'] ?? null
  if (shown !== null)
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  const { signature, public_key, key_id } = value
  const at = String(value['created_at'] ?? value['completed_at'])
  const claim = { message, signature, public_key, key_id, purpose: CONFORMANCE_PURPOSE, at }
  await checkSignature(findings, claim, keys)
  checkVerdicts(findings, value, judged)
  if (findings.checks.some(({ name, ok }) => name === 'key_known' && !ok))
    findings.notChecked.push('who signed: the key is not one that you trust or a service published')
  findings.notChecked.push('that the server behaved so: run the suite again with this seed')
  return finishVerdict(CONFORMANCE_KIND, findings)
}

function readCapabilities(value: unknown): readonly CapabilityVerdict[] | null {
  if (!Array.isArray(value)) return null
  const judged: CapabilityVerdict[] = []
  for (const item of value) {
    if (!isObject(item) || findMismatch(item, CAPABILITY_SHAPE) !== null) return null
    const { capability, verdict, checks } = item
    if (!Array.isArray(checks)) return null
    if (!checks.every((check) => isObject(check) && findMismatch(check, CHECK_SHAPE) === null))
      return null
    judged.push({ capability, verdict, outcomes: checks.map(({ passed }) => passed === true) })
  }
  return judged
}

function checkVerdicts(
  findings: VerdictDraft,
  value: JsonObject,
  judged: readonly CapabilityVerdict[],
): void {
  // A capability that is omitted or wrongly `not_declared` would escape the rate.
  const whole =
    judged.length === CONFORMANCE_CAPABILITIES.length &&
    CONFORMANCE_CAPABILITIES.every((name) => judged.some(({ capability }) => capability === name))
  addCheck(findings, 'capabilities', whole, 'are not the ten of the protocol, each once')
  const declared: unknown = value['declared_capabilities']
  const known = Array.isArray(declared) ? declared : []
  const asDeclared = judged.every(
    ({ capability, verdict }) => (verdict === 'not_declared') !== known.includes(capability),
  )
  addCheck(findings, 'declared_capabilities', asDeclared, 'are not those with a verdict')
  const follow = judged.every(followsFromChecks)
  addCheck(findings, 'verdicts', follow, 'do not follow from the checks')
  const passed = judged.filter(({ verdict }) => verdict === 'pass').length
  const tested = passed + judged.filter(({ verdict }) => verdict === 'fail').length
  const rate = tested === 0 ? 0 : Math.round((passed / tested) * 1e6) / 1e6
  const counted =
    value['passed'] === passed && value['tested'] === tested && value['conformance_rate'] === rate
  addCheck(findings, 'conformance_rate', counted, 'does not follow from the verdicts')
}

function followsFromChecks({ verdict, outcomes }: CapabilityVerdict): boolean {
  const failed = outcomes.includes(false)
  if (verdict === 'pass') return outcomes.length > 0 && !failed
  if (verdict === 'fail') return failed
  return verdict === 'not_declared' || !failed
}
