// POST /v1/orchestrator/replay/{decision_id}: rebuilds the question of a step from rows and asks it
// again. Stores nothing of the answer, but records that memories were sent.

import type { orchestrator as contract, ReplyOf } from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { noteDisclosure, openTextsOfRun } from '../../decisions/index.ts'
import { gate, redactedOr, refusalOf } from '../../governance/index.ts'
import {
  askModel,
  findModel,
  listEnabledTools,
  type ModelAnswer,
  type ModelQuestion,
  type OpenProvider,
} from '../../llm/index.ts'
import { loadLiveFacts } from '../../memory/index.ts'
import { meter } from '../../tenants/index.ts'
import { stepContext } from '../runs/agent-actions.ts'
import { loadAgent, type OpenAgent, refuseLimited } from '../runs/agents.ts'
import { findStepOfDecision, listCalls, listSteps, type StepRow } from '../runs/orchestrator.sql.ts'
import { executorOf, refsOf, sourcesOf } from '../runs/run-view.ts'
import { loadRun } from '../runs/runs.ts'
import { findWorkflow, type WorkflowRow } from '../runs/workflows.sql.ts'
import {
  buildMessages,
  costOf,
  countPrompt,
  keptAnswerOf,
  originsOf,
  RULE,
  roomFor,
} from './conversation.ts'
import { callsOf } from './next-act.ts'
import { loadWorkers, requireModelTokens } from './run-worker.ts'
import { stepsOfTurn, toolsOf, workersOf } from './workflow-plan.ts'

type ReplayCall = Call<typeof contract.replay>
/** Members that are absent are false, zero or null. */
type Findings = Partial<ReplyOf<typeof contract.replay>> &
  Pick<ReplyOf<typeof contract.replay>, 'status'>

const ID_BYTES = 16
const SHOWN_CHARS = 200
const DEGRADED_MIN = 0.9

/** The question of the step, as far as it can be rebuilt. */
interface EarlierQuestion {
  readonly step: StepRow
  readonly prompt: Pick<ModelQuestion, 'system' | 'messages' | 'tools' | 'temperature'>
  readonly provider: OpenProvider
  readonly input: string
  readonly output: string
  readonly origins: readonly string[]
}

export const replayDecision: Handler<typeof contract.replay> = async (call, { params, body }) => {
  refuseLimited(call)
  const { decision_id } = params
  const found = await call.read((db) => loadQuestion(call, db, decision_id))
  const verdict =
    'obstacle' in found ? impossible(found.obstacle) : await askAgain(call, found, body)
  return showVerdict(call, decision_id, verdict)
}

async function askAgain(
  call: ReplayCall,
  earlier: EarlierQuestion,
  body: Parameters<Handler<typeof contract.replay>>[1]['body'],
): Promise<Findings> {
  const { kernel } = call
  const { step, prompt, provider } = earlier
  try {
    await requireModelTokens(kernel, call.tenant_id)
  } catch (error) {
    if (error instanceof Refusal) return impossible(error.code)
    throw error
  }
  const prompt_tokens = await countPrompt(kernel, provider.row.kind, prompt)
  const tokens = Math.min(body.max_tokens ?? step.reserved_tokens, step.reserved_tokens)
  const cost_micro = body.max_cost_micro ?? step.reserved_cost_micro
  const max_tokens = roomFor(provider.row, { tokens, cost_micro }, prompt_tokens)
  if (max_tokens < 1) return call.refuse('budget_exhausted', 'the prompt alone is above the limit')
  const obstacle = await findObstacle(call, earlier, tokens)
  if (obstacle !== null) return impossible(obstacle)
  const question = { ...prompt, model_id: step.model_id, max_tokens }
  const begun_us = kernel.clock.now()
  const asked = await askModel(kernel, provider, question, { signal: call.gone })
  const known = {
    input_reconstructed: true,
    memory_match: true,
    model_available: true,
    original_output: shorten(earlier.output),
    replay_latency_ms: Math.round((kernel.clock.now() - begun_us) / 1_000),
  }
  if ('fault' in asked) return { ...known, status: 'error', divergence_reason: asked.fault }
  const { answer } = asked
  const text = textOf(answer)
  const tokenizer = await kernel.tokenizer('o200k_base')
  const used = {
    in: answer.tokens_in ?? prompt_tokens,
    out: answer.tokens_out ?? tokenizer.count(text),
  }
  return {
    ...known,
    tokens_in: used.in,
    tokens_out: used.out,
    cost_micro: costOf(provider.row, used),
    model_version_used: answer.model_version,
    ...(await compareAnswers(call, earlier, text)),
  }
}

/** Returns `null` after recording the disclosure if the question may be asked. Policies refuse. */
async function findObstacle(
  call: ReplayCall,
  { step, provider, input, origins }: EarlierQuestion,
  tokens: number,
): Promise<string | null> {
  const context = {
    ...stepContext({ ...step, reserved_tokens: tokens }, input),
    context_origins: origins,
  }
  const gated = await gate(call, 'inference', context, { minted: ['agent_id', 'run_id'] })
  if (gated.verdict !== 'allowed') throw refusalOf(gated)
  if (redactedOr(gated.redactions[0] ?? {}, 'query', input) !== input) return 'redacted_since'
  const { provider_id: recipient_id } = provider.row
  const recipient = { kind: 'provider', recipient_id, step_id: step.step_id } as const
  const noted = await call.transact((tx) => {
    meter(tx, call.operation.id)
    return noteDisclosure(tx, refsOf([step]), recipient)
  })
  return noted ? null : 'input_erased'
}

/** Compares the answers. An answer that a policy refuses is not shown. */
async function compareAnswers(
  call: ReplayCall,
  { step, output }: EarlierQuestion,
  text: string,
): Promise<Findings> {
  const { run_id, agent_id, model_id, store_id } = step
  const context = { run_id, agent_id, model_id, store_id, output: text }
  const gated = await gate(call, 'output_check', context, { minted: ['agent_id', 'run_id'] })
  if (gated.verdict !== 'allowed') return { status: 'error', divergence_reason: 'output_refused' }
  const replayed_output = shorten(redactedOr(gated.redactions[0] ?? {}, 'output', text))
  if (output === text)
    return { status: 'identical', confidence: 1, replayed_output, output_hash_match: true }
  const confidence = compareWords(output, text)
  const near = confidence >= DEGRADED_MIN
  return {
    status: near ? 'degraded' : 'diverged',
    divergence_reason: near ? 'words_differ' : 'answer_differs',
    confidence,
    replayed_output,
  }
}

/** The rows and texts of then, or why it cannot be asked. */
async function loadQuestion(
  { kernel, refuse }: ReplayCall,
  db: TenantDb,
  decision_id: string,
): Promise<EarlierQuestion | { readonly obstacle: string }> {
  const step = await findStepOfDecision(db, decision_id)
  if (!step) return refuse('decision_not_found')
  const run = await loadRun(db, step.run_id)
  if (executorOf(run) !== 'managed') return { obstacle: 'not_managed' }
  const agent = await loadAgent(kernel, db, step.agent_id)
  if (!agent) return { obstacle: 'agent_gone' }
  if ((agent.row.updated_us ?? 0) > step.created_us) return { obstacle: 'agent_changed' }
  const workflow = run.workflow_id === null ? null : await findWorkflow(db, run.workflow_id)
  if (workflow === undefined) return { obstacle: 'workflow_gone' }
  const all = (await listSteps(db, run.run_id)).filter(({ step_no }) => step_no < step.step_no)
  const before = stepsOfTurn({ steps: all }, step)
  const calls = await listCalls(db, run.run_id)
  const rows = { run, steps: before, calls }
  const texts = await openTextsOfRun(kernel, db, run.run_id)
  const facts = await loadLiveFacts(kernel, db, refsOf([...before, step]))
  const known = { texts, facts }
  const output = outputOf(rows, known, step)
  const input = texts.get(step.input_text_id)?.text
  const gone = [...before, step].some((one) =>
    sourcesOf(one).retrieved.some((ref) => !facts.has(ref)),
  )
  const messages = buildMessages(rows, known, step)
  if (gone || messages === null || output === null || input === undefined)
    return { obstacle: 'input_erased' }
  const tools = await loadTools(kernel, db, { agent, workflow, step })
  if ('obstacle' in tools) return tools
  const provider = await findModel(kernel, db, step.model_id)
  if (!provider) return { obstacle: 'model_unavailable' }
  const { system_prompt, temperature } = agent.words
  const seen = workflow?.mode === 'parallel' ? before : all
  const told = { ...rows, calls: seen.flatMap((one) => callsOf(rows, one)) }
  return {
    step,
    provider,
    input,
    output,
    prompt: {
      system: `${system_prompt}\n\n${RULE}`.trim(),
      messages,
      temperature,
      tools,
    },
    origins: [
      'caller',
      ...(refsOf([step]).length > 0 ? ['memory'] : []),
      ...(seen.length > 0 ? ['model'] : []),
      ...originsOf(told, known),
    ],
  }
}

/** The tools that the agent of the step could call at that time. */
async function loadTools(
  kernel: Kernel,
  db: TenantDb,
  {
    agent,
    workflow,
    step: { turn_no, created_us },
  }: { agent: OpenAgent; workflow: WorkflowRow | null; step: StepRow },
): Promise<ModelQuestion['tools'] | { readonly obstacle: string }> {
  const listed = workersOf(workflow, turn_no)
  const workers = await loadWorkers(kernel, db, listed)
  if (workers?.length !== listed?.length) return { obstacle: 'agent_gone' }
  if (workers?.some(({ row }) => (row.updated_us ?? 0) > created_us))
    return { obstacle: 'agent_changed' }
  const tools = toolsOf(agent, await listEnabledTools(kernel, db), workers)
  if (tools.some(({ row }) => row.created_us > created_us && row.version > 1))
    return { obstacle: 'tools_changed' }
  return tools
    .filter(({ row }) => row.created_us <= created_us)
    .map(({ words: { name, description, input_schema } }) => ({ name, description, input_schema }))
}

/** Returns `null` if the output is erased. */
function outputOf(
  rows: Parameters<typeof callsOf>[0],
  known: Parameters<typeof keptAnswerOf>[0],
  step: StepRow,
): string | null {
  if (callsOf(rows, step).length === 0)
    return known.texts.get(step.output_text_id ?? '')?.text ?? null
  const kept = keptAnswerOf(known, step)
  return kept && textOf(kept)
}

/** The text of an answer, with its calls if it has any. */
const textOf = ({ text, calls }: Pick<ModelAnswer, 'text' | 'calls'>): string =>
  calls.length === 0
    ? text
    : canonicalize({ text, calls: calls.map((one): JsonObject => ({ ...one })) })

const shorten = (text: string): string =>
  text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS)}...`

const impossible = (reason: string): Findings => ({
  status: 'impossible',
  divergence_reason: reason,
  model_available: reason !== 'model_unavailable',
  memory_match: reason !== 'input_erased',
})

/** The Sørensen–Dice coefficient of the words of two texts, regardless of order. */
function compareWords(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)]
  const left = new Map<string, number>()
  for (const word of a) left.set(word, (left.get(word) ?? 0) + 1)
  let common = 0
  for (const word of b) {
    const count = left.get(word) ?? 0
    if (count === 0) continue
    common += 1
    left.set(word, count - 1)
  }
  return a.length + b.length === 0 ? 1 : (2 * common) / (a.length + b.length)
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const showVerdict = (
  { kernel, tenant_id }: ReplayCall,
  decision_id: string,
  known: Findings,
): ReplyOf<typeof contract.replay> => ({
  replay_id: kernel.ids.hex(ID_BYTES),
  decision_id,
  tenant_id,
  divergence_reason: null,
  original_output: null,
  replayed_output: null,
  confidence: 0,
  input_reconstructed: false,
  memory_match: false,
  model_available: false,
  output_hash_match: false,
  model_version_used: null,
  tokens_in: 0,
  tokens_out: 0,
  cost_micro: 0,
  replay_latency_ms: 0,
  ...known,
  replayed_at: formatTime(kernel.clock.now()),
})
