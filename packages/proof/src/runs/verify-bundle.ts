// Verifies the bundle of a run offline: log entries, receipts, permits, budgets, approvals, texts.

import type { JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { readHex, toHex } from '../core/encoding.ts'
import { isCount, isObject, isText } from '../core/shape.ts'
import { signedBytes } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { contentHash, verifyCertificate } from '../documents/certificate.ts'
import { type LogContext, verifyInclusionProof } from '../log/log-proof.ts'
import { agentActionRules } from '../records/agent-action.ts'
import { verifyApproval } from '../records/approval.ts'
import { verifyRegistryRecord } from '../records/registry-record.ts'
import { checkCompensation, checkWorkflow, type LogEntry, readEntry } from './run-entries.ts'
import { isEnded, mayFollow, statesOf } from './transitions.ts'

/** The lines of a bundle by type, in the shape that the checks need. */
interface Bundle {
  readonly tenant_id: string
  readonly run_id: string
  readonly ended: boolean
  readonly entries: readonly LogEntry[]
  readonly receipts: readonly JsonObject[]
  readonly actions: readonly JsonObject[]
  readonly approvals: readonly JsonObject[]
  readonly texts: readonly JsonObject[]
  readonly certificates: readonly JsonObject[]
}

/** Whether lines are the bundle of a run. */
export const isRunBundle = (lines: readonly unknown[]): boolean =>
  isObject(lines[0]) && lines[0]['type'] === 'run_bundle'

/**
 * Verifies a bundle with the published keys. Never throws: an unreadable bundle is invalid, with
 * the reason. A missing text is valid if an erasure certificate explains it.
 */
export async function verifyRunBundle(
  lines: readonly unknown[],
  context: LogContext,
): Promise<Verdict> {
  const findings = startVerdict()
  try {
    const bundle = await readBundle(lines, context, findings)
    if (typeof bundle === 'string') return malformedVerdict('run', bundle)
    await checkSigned(bundle, context, findings)
    checkOrder(bundle, findings)
    checkWorkflow(bundle.entries, findings)
    checkCompensation(bundle.entries, findings)
    checkReceipts(bundle, findings)
    checkBudget(bundle, findings)
    checkApprovals(bundle, findings)
    checkTexts(bundle, findings)
    findings.notChecked.push(
      executorOf(bundle) === 'managed'
        ? `output, tokens and model: as the provider answered the service${claimedResults(bundle)}`
        : 'output, results, tokens, cost and model: as the caller who executed the steps said',
      'entries beside steps, calls and approval; ids of texts; epochs and cosignatures',
    )
  } catch {
    addCheck(findings, 'shape', false, 'a line is not of the shape of its type')
  }
  return finishVerdict('run', findings)
}

const LINE_TYPES = ['run_bundle', 'entry', 'receipt', 'action', 'approval', 'text', 'erasure']

async function readBundle(
  lines: readonly unknown[],
  context: LogContext,
  findings: VerdictDraft,
): Promise<Bundle | string> {
  const objects = lines.filter(isObject)
  if (objects.length !== lines.length) return 'a line that is not an object'
  const [head] = objects
  if (head?.['type'] !== 'run_bundle' || head['version'] !== 1) return 'no head of version 1'
  const { tenant_id, run_id, ended } = head
  if (!isText(tenant_id) || !isText(run_id) || typeof ended !== 'boolean') return 'head'
  const known = objects.every(({ type }) => LINE_TYPES.includes(String(type)))
  addCheck(findings, 'lines', known, 'of an unknown type')
  const single = objects.filter(({ type }) => type === 'run_bundle').length === 1
  addCheck(findings, 'head', single, 'more than one')
  const membersOf = (type: string, member: string): JsonObject[] =>
    objects.flatMap((line) => {
      const value = line[member]
      return line['type'] === type ? [isObject(value) ? value : {}] : []
    })
  const entries = await readEntries(membersOf('entry', 'proof'), context, findings)
  return {
    ...{ tenant_id, run_id, ended, entries },
    receipts: membersOf('receipt', 'receipt'),
    actions: membersOf('action', 'record'),
    approvals: membersOf('approval', 'record'),
    texts: objects.filter(({ type }) => type === 'text'),
    certificates: membersOf('erasure', 'certificate'),
  }
}

async function readEntries(
  proofs: readonly JsonObject[],
  context: LogContext,
  findings: VerdictDraft,
): Promise<LogEntry[]> {
  const entries: LogEntry[] = []
  const invalid: string[] = []
  const roots = new Set<unknown>()
  for (const proof of proofs) {
    const verdict = await verifyInclusionProof(proof, context)
    for (const key_id of verdict.valid_with)
      if (!findings.validWith.includes(key_id)) findings.validWith.push(key_id)
    if (!verdict.valid) invalid.push(`${String(proof['breadcrumb_seq'])}: ${verdict.reason}`)
    roots.add(proof['root_hash'])
    const entry = readEntry(proof['breadcrumb'])
    if (entry) entries.push(entry)
  }
  addCheck(findings, 'entries_included', invalid.length === 0, invalid[0])
  addCheck(findings, 'one_checkpoint', roots.size <= 1, 'entries are under different checkpoints')
  const ordered = entries.every(({ seq }, i) => i === 0 || seq > (entries[i - 1]?.seq ?? seq))
  addCheck(findings, 'entries_ordered', ordered, 'log positions do not rise')
  return entries
}

const digestOf = (receipt: JsonObject): string => toHex(sha256(signedBytes('run_receipt', receipt)))

/** Verifies every signature: receipts, actions, approvals, certificates. */
async function checkSigned(
  { receipts, actions, approvals, certificates }: Bundle,
  { keys }: LogContext,
  findings: VerdictDraft,
): Promise<void> {
  for (const receipt of receipts) {
    const { signature, public_key, key_id, ended_at } = receipt
    const message = signedBytes('run_receipt', receipt)
    const claim = { message, signature, public_key, key_id, purpose: 'record' }
    await checkSignature(findings, { ...claim, at: String(ended_at) }, keys)
  }
  const verdicts = [
    ...actions.map((one) => verifyRegistryRecord(agentActionRules, one, keys)),
    ...approvals.map((one) => verifyApproval(one, keys)),
    ...certificates.map((one) => verifyCertificate(one, keys)),
  ]
  for (const verdict of await Promise.all(verdicts))
    addCheck(findings, `${verdict.type}_valid`, verdict.valid, verdict.reason)
}

const ENDED_RUN = /^run\.(completed|denied|failed|terminated)$/
const ENDED_STEP = /^step\.(completed|denied|failed)$/
const ENDED_CALL = /^tool\.(completed|failed|uncertain|resolved|compensated)$/
const MAY_FOLLOW_END = /^(agent_action|approval|decision)\./

/** Checks the transitions of the run, its steps and calls, in the order of the log. */
function checkOrder(bundle: Bundle, findings: VerdictDraft): void {
  const { run_id, ended, entries } = bundle
  const mayCall = executorOf(bundle) === 'managed' ? 'answered' : 'permitted'
  const [first] = entries
  const started = first?.event_type === 'run.started' && first.subject === run_id
  addCheck(findings, 'started', started, 'the first entry is not the start of the run')
  const starts = entries.filter(({ event_type }) => event_type === 'run.started').length
  addCheck(findings, 'started_once', starts === 1, 'the run starts more than once')
  const states = new Map<string, string>()
  const open = new Set<string>()
  const illegal: string[] = []
  const move = (machine: 'step' | 'call', id: string, to: unknown) => {
    const from = states.get(id) ?? 'none'
    const state = String(to)
    const skipped = from === 'none' && mayFollow(machine, 'waiting_hitl', state)
    if (!mayFollow(machine, from, state) && !skipped) illegal.push(`${id}: ${from} to ${state}`)
    if (!statesOf(machine).includes(state)) illegal.push(`${id}: ${state}`)
    states.set(id, state)
    if (isEnded(machine, state) || state === 'uncertain') open.delete(id)
    else open.add(id)
  }
  let over = false
  for (const { event_type, subject, payload, seq } of entries) {
    if (over && !MAY_FOLLOW_END.test(event_type)) illegal.push(`${seq}: after the end of the run`)
    const own = payload['run_id'] === undefined || payload['run_id'] === run_id
    if (!own) illegal.push(`${seq}: of another run`)
    if (event_type === 'step.permitted') move('step', subject, 'permitted')
    else if (event_type === 'step.answered') move('step', subject, 'answered')
    else if (ENDED_STEP.test(event_type)) {
      move('step', subject, payload['state'])
      if (event_type !== `step.${String(payload['state'])}`) illegal.push(`${seq}: two states`)
    } else if (event_type === 'tool.intended') {
      move('call', subject, 'intended')
      const undoes = payload['compensates'] !== undefined
      if (!undoes && states.get(String(payload['step_id'])) !== mayCall)
        illegal.push(`${subject}: the step is not permitted`)
    } else if (ENDED_CALL.test(event_type)) {
      const resolved = event_type === 'tool.resolved'
      if (resolved !== (states.get(subject) === 'uncertain'))
        illegal.push(`${seq}: only a person settles an uncertain call, and no other`)
      move('call', subject, payload['state'])
    } else if (ENDED_RUN.test(event_type)) {
      over = true
      const state = String(payload['state'])
      if (event_type !== `run.${state}`) illegal.push(`${seq}: two states`)
      if (!mayFollow('run', 'running', state)) illegal.push(`${seq}: ${state}`)
    }
  }
  addCheck(findings, 'transitions', illegal.length === 0, illegal[0])
  addCheck(findings, 'ended', over === ended, 'the head and the log differ about the end')
  if (!over) {
    findings.notChecked.push('how the run ends: it had not ended')
    return
  }
  addCheck(findings, 'nothing_open', open.size === 0, 'a step or call has no end')
}

const claimedResults = ({ entries }: Bundle): string =>
  entries.some(({ payload }) => payload['executor'] === 'client')
    ? '; results of `client` tools: as the caller said'
    : ''

const executorOf = ({ entries }: Bundle): unknown => entries[0]?.payload['executor'] ?? 'client'

/** Checks the chain of receipts, and each receipt against the log. */
function checkReceipts(bundle: Bundle, findings: VerdictDraft): void {
  const { receipts, entries, run_id, tenant_id } = bundle
  const chained = receipts.every(({ receipt_no, previous }, i) => {
    const before = receipts[i - 1]
    return receipt_no === i && previous === (before ? digestOf(before) : null)
  })
  addCheck(findings, 'receipts_chained', chained, 'a receipt does not follow the one before it')
  const own = receipts.every((one) => one['run_id'] === run_id && one['tenant_id'] === tenant_id)
  addCheck(findings, 'receipts_of_run', own, 'a receipt is of another run')
  const executor = executorOf(bundle)
  const executed = receipts.every((one) => one['executor'] === executor)
  addCheck(findings, 'receipts_executor', executed, 'a receipt names another executor than the run')
  const said = receipts.every(isClaimSaid)
  addCheck(findings, 'receipts_claimed', said, 'a receipt hides what only a caller said')
  const logged = entries.filter(({ event_type }) => ENDED_STEP.test(event_type))
  const same =
    logged.length === receipts.length &&
    logged.every(({ subject, payload }, i) => {
      const receipt = receipts[i]
      if (!receipt || receipt['step_id'] !== subject) return false
      const { state, reason, receipt_digest } = payload
      return (
        receipt_digest === digestOf(receipt) &&
        state === receipt['state'] &&
        reason === receipt['reason']
      )
    })
  addCheck(findings, 'receipts_logged', same, 'the log has other receipts')
  const end = entries.find(({ event_type }) => ENDED_RUN.test(event_type))
  if (end) {
    const all = end.payload['receipts'] === receipts.length
    addCheck(findings, 'receipts_complete', all, 'the log counts other receipts')
  }
  for (const receipt of receipts) checkReceipt(bundle, receipt, findings)
}

/** Whether the receipt of a managed run marks results that the caller reported as claimed. */
function isClaimSaid({ executor, claimed, calls }: JsonObject): boolean {
  if (executor !== 'managed' || !Array.isArray(calls)) return true
  const reported = calls.some((call) => isObject(call) && call['executor'] === 'client')
  return Array.isArray(claimed) && claimed.includes('results') === reported
}

const PERMIT_MEMBERS = [
  'agent_id',
  'step_no',
  'turn_no',
  'permit',
  'input_commitment',
  'action_id',
] as const

/** Checks that a receipt states what the log permitted, called and decided. */
function checkReceipt(bundle: Bundle, receipt: JsonObject, findings: VerdictDraft): void {
  const { entries } = bundle
  const named = (event: string, subject: unknown) =>
    entries.find(({ event_type, subject: of }) => event_type === event && of === subject)
  const { memory, policy, budget, decision_id, step_id, calls } = receipt
  if (!isObject(memory) || !isObject(policy) || !isObject(budget) || !Array.isArray(calls)) {
    addCheck(findings, 'receipt', false, 'has not the members of a receipt')
    return
  }
  const permit = named('step.permitted', step_id)
  addCheck(
    findings,
    'permit_logged',
    (receipt['permit'] !== null) === (permit !== undefined),
    'a permit and the log differ',
  )
  if (permit) {
    const { payload } = permit
    const refs = [memory['retrieved_refs'], memory['inherited_refs']].flatMap((list) =>
      Array.isArray(list) ? list : [],
    )
    const same =
      PERMIT_MEMBERS.every((member) => payload[member] === receipt[member]) &&
      payload['memory_seq'] === memory['memory_seq'] &&
      payload['refs'] === new Set(refs).size &&
      payload['policy_set'] === policy['policy_set'] &&
      payload['evaluation_id'] === policy['evaluation_id'] &&
      payload['max_tokens'] === budget['max_tokens'] &&
      payload['max_cost_micro'] === budget['max_cost_micro']
    addCheck(findings, 'permit', same, 'is not the one of the receipt')
  }
  const completed = receipt['state'] === 'completed'
  const answered = named('step.answered', step_id)?.payload
  const asked = executorOf(bundle) === 'managed' && calls.length > 0
  const sameAnswer = answered
    ? (!completed || answered['output_commitment'] === receipt['output_commitment']) &&
      answered['tokens_in'] === budget['tokens_in'] &&
      answered['tokens_out'] === budget['tokens_out']
    : !asked
  addCheck(findings, 'answer_logged', sameAnswer, 'the answer is not the one on the log')
  const decided = named('decision.logged', decision_id)
  const decision =
    completed === (decision_id !== null) &&
    (!completed || decided?.payload['record_digest'] === receipt['record_digest'])
  addCheck(findings, 'decision_logged', decision, 'the decision is not the one on the log')
  const intended = entries.filter(
    ({ event_type, payload }) =>
      event_type === 'tool.intended' &&
      payload['step_id'] === step_id &&
      payload['compensates'] === undefined,
  )
  const acted = calls.filter(isObject).filter(({ state }) => state !== 'denied')
  const callsAgree =
    intended.every(({ subject }) => acted.some(({ call_id }) => call_id === subject)) &&
    calls.filter(isObject).every((call) => isCallLogged(entries, call))
  addCheck(findings, 'calls_logged', callsAgree, 'calls and the log differ')
}

function isCallLogged(entries: readonly LogEntry[], call: JsonObject): boolean {
  const own = entries.filter(({ subject }) => subject === call['call_id'])
  const intent = own.find(({ event_type }) => event_type === 'tool.intended')
  const end = own.findLast(({ event_type }) => ENDED_CALL.test(event_type))
  const { state, reason, args_commitment, effect, action_id } = call
  if (intent) {
    const { payload } = intent
    const same =
      payload['args_commitment'] === args_commitment &&
      payload['effect'] === effect &&
      payload['executor'] === call['executor'] &&
      payload['action_id'] === action_id &&
      payload['policy_set'] === call['policy_set'] &&
      payload['evaluation_id'] === call['evaluation_id']
    if (!same) return false
  }
  if (end) return end.payload['state'] === state && end.payload['reason'] === reason
  // A call that a policy denied has no `tool.intended` entry.
  return !intent && state === 'denied' && reason === 'policy'
}

/** Checks that no permit exceeds the remaining budget, and that the spending adds up. */
function checkBudget({ entries, receipts }: Bundle, findings: VerdictDraft): void {
  const started = entries[0]?.payload ?? {}
  const open = new Map<string, { tokens: number; cost: number }>()
  const used = { tokens: 0, cost: 0, excess: 0, excessCost: 0 }
  const wrong: string[] = []
  const limitOf = (member: string) =>
    isCount(started[member]) ? (started[member] as number) : Number.POSITIVE_INFINITY
  const [tokensMax, costMax] = [limitOf('budget_tokens'), limitOf('budget_cost_micro')]
  for (const { event_type, subject, payload } of entries) {
    if (event_type === 'step.permitted') {
      const permit = {
        tokens: Number(payload['max_tokens']),
        cost: Number(payload['max_cost_micro']),
      }
      open.set(subject, permit)
      const sum = [...open.values()].reduce(
        (all, one) => ({ tokens: all.tokens + one.tokens, cost: all.cost + one.cost }),
        { tokens: used.tokens - used.excess, cost: used.cost - used.excessCost },
      )
      if (sum.tokens > tokensMax || sum.cost > costMax) wrong.push(`${subject}: above the budget`)
    }
    if (!ENDED_STEP.test(event_type)) continue
    const receipt = receipts.find(({ step_id }) => step_id === subject)
    const budget = receipt?.['budget']
    if (!isObject(budget)) continue
    const permit = open.get(subject)
    open.delete(subject)
    const [charged, cost] = [Number(budget['charged_tokens']), Number(budget['charged_cost_micro'])]
    const { tokens_in, tokens_out } = budget
    const reported = isCount(tokens_in) && isCount(tokens_out) ? tokens_in + tokens_out : null
    if (charged !== (reported ?? permit?.tokens ?? 0)) wrong.push(`${subject}: charged otherwise`)
    used.tokens += charged
    used.cost += cost
    used.excess += Math.max(0, charged - (permit?.tokens ?? 0))
    used.excessCost += Math.max(0, cost - (permit?.cost ?? 0))
    if (budget['spent_tokens'] !== used.tokens || budget['spent_cost_micro'] !== used.cost)
      wrong.push(`${subject}: what was spent does not add up`)
    const limits = [budget['tokens'] ?? null, budget['cost_micro'] ?? null]
    if (limits[0] !== started['budget_tokens'] || limits[1] !== started['budget_cost_micro'])
      wrong.push(`${subject}: another budget than that of the run`)
  }
  const end = entries.find(({ event_type }) => ENDED_RUN.test(event_type))?.payload
  if (end && (end['spent_tokens'] !== used.tokens || end['spent_cost_micro'] !== used.cost))
    wrong.push('the run spent something else')
  addCheck(findings, 'budget', wrong.length === 0, wrong[0])
}

/** Checks that a person approved each permitted action that had to wait, exactly as executed. */
function checkApprovals(bundle: Bundle, findings: VerdictDraft): void {
  const { entries, actions, approvals } = bundle
  const wrong: string[] = []
  const permits = entries.filter(({ event_type }) =>
    ['step.permitted', 'tool.intended'].includes(event_type),
  )
  for (const { subject, seq, payload } of permits) {
    const { action_id } = payload
    if (action_id === null) continue
    const action = actions.find((one) => one['action_id'] === action_id)
    const approved = entries.find(
      ({ event_type, subject: of }) => event_type === 'agent_action.approved' && of === action_id,
    )
    const commitment = payload['input_commitment'] ?? payload['args_commitment']
    const target = action?.['call_id'] ?? action?.['step_id']
    if (!action || target !== subject || action['commitment'] !== commitment)
      wrong.push(`${subject}: what was approved is something else`)
    const member = isObject(action?.['approval']) ? action['approval'] : {}
    const approval = approvals.find((one) => one['request_id'] === member['request_id'])
    const same =
      approval?.['decision'] === 'approve' &&
      approval['proposal_digest'] === action?.['proposal_digest'] &&
      approval['record_id'] === action_id
    if (!same) wrong.push(`${subject}: no approval of a person`)
    const together = approved !== undefined && approved.seq - seq === APPROVED_AFTER
    if (!together || approved.payload['record_digest'] !== recordDigest(action))
      wrong.push(`${subject}: the log has no such approval`)
  }
  const named = new Set(permits.map(({ payload }) => payload['action_id']))
  const spare = actions.filter(({ action_id }) => !named.has(action_id ?? null))
  if (spare.length > 0) wrong.push('an action that nothing of the run names')
  addCheck(findings, 'approvals', wrong.length === 0, wrong[0])
}

/** Distance from a permit to its approval, whose two entries are appended with it. */
const APPROVED_AFTER = 2

const recordDigest = (record: JsonObject | undefined): string | null =>
  record ? toHex(sha256(signedBytes('agent_action', record))) : null

/** Checks that each text opens its commitment, or that a certificate explains its erasure. */
function checkTexts(bundle: Bundle, findings: VerdictDraft): void {
  const { receipts, texts, certificates, entries } = bundle
  const committed = new Set<unknown>()
  for (const { payload } of entries)
    for (const member of ['input_commitment', 'args_commitment', 'result_commitment'])
      if (isText(payload[member])) committed.add(payload[member])
  for (const receipt of receipts) {
    committed.add(receipt['input_commitment'])
    if (receipt['output_commitment'] !== null) committed.add(receipt['output_commitment'])
    for (const call of Array.isArray(receipt['calls']) ? receipt['calls'] : []) {
      if (!isObject(call)) continue
      committed.add(call['args_commitment'])
      if (call['result_commitment'] !== null) committed.add(call['result_commitment'])
    }
  }
  const refs = new Set(
    receipts.flatMap(({ memory }) =>
      isObject(memory)
        ? [memory['retrieved_refs'], memory['inherited_refs'], memory['called_refs']].flatMap(
            (list) => (Array.isArray(list) ? list : []),
          )
        : [],
    ),
  )
  const certified = certificates.filter(({ fact_ref }) => refs.has(fact_ref ?? null))
  const wrong: string[] = []
  const shown = new Set<unknown>()
  let gone = 0
  for (const { text_id, commitment, text, salt } of texts) {
    shown.add(commitment)
    if (text === null && salt === null) {
      gone += 1
      const redacted = certificates.some(({ subject_id }) => subject_id === text_id)
      if (certified.length === 0 && !redacted) wrong.push('a text is gone, no certificate says why')
      continue
    }
    const bytes = isText(salt) ? readHex(salt) : null
    const opens = isText(text) && bytes !== null && contentHash(bytes, text) === commitment
    if (!opens) wrong.push('a text does not open its commitment')
  }
  // Until the run has ended, a waiting step may have a text that no permit names yet.
  if (bundle.ended && [...shown].some((one) => !committed.has(one)))
    wrong.push('a text that nothing of the run commits to')
  if ([...committed].some((one) => !shown.has(one))) wrong.push('a text is missing')
  addCheck(findings, 'texts', wrong.length === 0, wrong[0])
  const ids = certificates.map(({ certificate_id }) => String(certificate_id))
  if (gone > 0) findings.notChecked.push(`${gone} texts are erased: ${ids.join(', ')}`)
}
