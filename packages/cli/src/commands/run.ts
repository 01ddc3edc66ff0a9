// custos run: runs of agents on a running service: start, follow, cancel and prove them.

import { setTimeout } from 'node:timers/promises'
import { ApiError, type Custos } from '@custos/client'
import type { Run, RunStep } from '@custos/contract'
import { CLIENT_HELP, setMembers } from '../client-calls.ts'
import { type Command, CommandError, UsageError } from '../command.ts'
import { saveDownload } from '../download.ts'
import { formatBytes } from '../output.ts'
import { defineVerb, runVerb } from '../verbs.ts'

export const run: Command = {
  usage: 'start AGENT_ID --input TEXT | VERB ID [options]',
  help: `  start AGENT_ID      start a managed run; shows its id
  follow RUN_ID       show its steps until it ends or waits for a person
  approve ACTION_ID   approve a waiting step or call, exactly as it was proposed
  reject ACTION_ID    reject it; the run is denied
  cancel RUN_ID       end the run: no step, no call after it
  bundle RUN_ID       write everything that proves the run
  verify FILE         check a bundle offline, as custos verify does

  --workflow          AGENT_ID is the id of a workflow (start)
  --input TEXT        what the run is for (start)
  --tokens N          the most tokens that its steps may use (start; default: no limit)
  --follow            follow the run (start)
  --approver NAME     who decides (approve, reject)
  --feedback TEXT     why (approve, reject)
  --leave             undo nothing, or nothing more, of what it did (cancel)
  -o, --output FILE   where to write the bundle (default: standard output)
  --keys FILE         the published keys (verify)
${CLIENT_HELP}`,
  async run(args) {
    const [verb, ...rest] = args
    if (verb === 'verify') return (await import('./verify.ts')).verify.run(rest)
    return runVerb(args, { start, follow, approve, reject, cancel, bundle })
  },
}

const START_OPTIONS = {
  input: { type: 'string' },
  tokens: { type: 'string' },
  workflow: { type: 'boolean' },
  follow: { type: 'boolean' },
} as const

const start = defineVerb(START_OPTIONS, ['AGENT_ID'], async (custos, { values, positionals }) => {
  const { input, tokens } = values
  if (input === undefined) throw new UsageError('say what the run is for: --input TEXT')
  if (tokens !== undefined && !/^[1-9]\d{0,14}$/.test(tokens))
    throw new UsageError('--tokens takes a number of tokens')
  const id = positionals[0] ?? ''
  const { run_id } = await custos.orchestrator.startRun({
    ...(values.workflow ? { workflow_id: id } : { agent_id: id }),
    executor: 'managed',
    input_text: input,
    ...(tokens !== undefined && { budget: { tokens: Number(tokens) } }),
  })
  console.log(`run ${run_id}`)
  if (values.follow) await showUntilRest(custos, run_id)
})

const follow = defineVerb({}, ['RUN_ID'], (custos, { positionals }) =>
  showUntilRest(custos, positionals[0] ?? ''),
)

/** Poll intervals without the stream of the run, and without the stream of waiting actions. */
const POLL_MS = 250
const LOOK_MS = 2_000
/** The event of an action that waits for a person. Its run has no log entry of its own then. */
const WAITS = 'agent_action.waiting_hitl'

/**
 * Reads the run whenever its streams have news, and polls only if a stream failed. Each state of a
 * step or call is shown once. Throws CommandError if the run does not complete.
 */
async function showUntilRest(custos: Custos, run_id: string): Promise<void> {
  const left = new AbortController()
  const { signal } = left
  const shown = new Set<string>()
  let news = Promise.withResolvers<void>()
  let look_ms = Number.POSITIVE_INFINITY
  const follow = async (stream: AsyncIterable<unknown>, else_ms: number) => {
    try {
      for await (const _ of stream) news.resolve()
    } catch (error) {
      if (signal.aborted) return
      look_ms = Math.min(look_ms, else_ms)
      news.resolve()
      if (else_ms === POLL_MS)
        console.error(`no event stream of the run: ${reasonOf(error)}; it is looked at instead`)
    }
  }
  const reading = [
    follow(custos.streams.run(run_id, { signal }), POLL_MS),
    follow(custos.streams.events({ events: WAITS }, { signal }), LOOK_MS),
  ]
  try {
    while (!(await showNews(custos, run_id, shown))) {
      const looks = Number.isFinite(look_ms) ? [setTimeout(look_ms, null, { signal })] : []
      await Promise.race([news.promise, ...looks])
      news = Promise.withResolvers()
    }
  } finally {
    left.abort()
    await Promise.all(reading)
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof ApiError ? error.code : error instanceof Error ? error.message : String(error)

/** Shows new states. Returns true if the run has ended or a person has to act. */
async function showNews(custos: Custos, run_id: string, shown: Set<string>): Promise<boolean> {
  const found = await custos.orchestrator.getRun(run_id)
  for (const line of found.steps.flatMap(stepLines)) {
    if (!shown.has(line)) console.log(line)
    shown.add(line)
  }
  if (found.ended_at !== null) {
    const { spent, termination_reason: reason } = found
    const why = reason === null ? '' : ` (${reason})`
    const end = `${found.state}${why}: ${found.steps_total} steps, ${spent.tokens} tokens`
    if (found.state !== 'completed') throw new CommandError(end)
    console.log(end)
    return true
  }
  // The person who has to act may be the reader of these lines.
  const rests = await waitsForSomebody(custos, found)
  if (rests) console.log(found.state)
  return rests
}

/** Whether a person must act. A run resumes a moment after its action was decided. */
async function waitsForSomebody(
  custos: Custos,
  { state, steps }: Run & { steps: RunStep[] },
): Promise<boolean> {
  if (state !== 'waiting_hitl') return state === 'waiting_resolution'
  const waiting = steps
    .flatMap((step) => [step, ...step.calls])
    .flatMap((one) => (one.state === 'waiting_hitl' ? (one.action_id ?? []) : []))
  for (const action_id of waiting)
    if ((await custos.orchestrator.getAction(action_id)).status === 'waiting_hitl') return true
  return false
}

function stepLines({ step_no, state, reason, model_id, action_id, calls }: RunStep): string[] {
  return [
    `step ${step_no} ${model_id}: ${stateText({ state, reason, action_id })}`,
    ...calls.map((call, i) => `step ${step_no} call ${i + 1}: ${stateText(call)}`),
  ]
}

const stateText = (
  one: Pick<RunStep['calls'][number], 'reason' | 'action_id'> & { state: string },
) =>
  `${one.state}${one.reason === null ? '' : ` (${one.reason})`}${
    one.state === 'waiting_hitl' ? `, action ${one.action_id}` : ''
  }`

const DECIDE_OPTIONS = { approver: { type: 'string' }, feedback: { type: 'string' } } as const

const decide = (verb: 'approveAction' | 'rejectAction', said: string) =>
  defineVerb(DECIDE_OPTIONS, ['ACTION_ID'], async (custos, { values, positionals }) => {
    const { approver, feedback } = values
    if (approver === undefined) throw new UsageError('say who decides: --approver NAME')
    const body = { approver, ...setMembers({ feedback }) }
    const { action_id } = await custos.orchestrator[verb](positionals[0] ?? '', body)
    console.log(`action ${action_id} ${said}`)
  })

const approve = decide('approveAction', 'approved')
const reject = decide('rejectAction', 'rejected')

const CANCEL_OPTIONS = { leave: { type: 'boolean' } } as const

const cancel = defineVerb(CANCEL_OPTIONS, ['RUN_ID'], async (custos, { values, positionals }) => {
  const how = values.leave ? { compensate: false } : {}
  const { run_id, state } = await custos.orchestrator.cancelRun(positionals[0] ?? '', how)
  console.log(`run ${run_id} ${state}`)
})

const BUNDLE_OPTIONS = { output: { type: 'string', short: 'o' } } as const

const bundle = defineVerb(BUNDLE_OPTIONS, ['RUN_ID'], async (custos, { values, positionals }) => {
  const lines: string[] = []
  for await (const line of custos.orchestrator.bundle(positionals[0] ?? ''))
    lines.push(`${JSON.stringify(line)}\n`)
  const whole = new Response(lines.join(''))
  const { bytes, file } = await saveDownload(whole, 'bundle', values.output)
  if (file !== null) console.log(`${file}: ${formatBytes(bytes)}`)
})
