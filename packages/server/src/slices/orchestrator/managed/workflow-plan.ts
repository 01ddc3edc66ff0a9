// Decides which agents take the next turns of a run, from its rows and texts alone, so that any
// process can continue it. A turn is the conversation of one agent until it answers without calls.

import type { JsonObject } from '@custos/proof'
import { DELEGATE, type OpenTool } from '../../llm/index.ts'
import type { OpenAgent } from '../runs/agents.ts'
import { argsOf } from '../runs/call-tool.ts'
import type { CallRow, StepRow } from '../runs/orchestrator.sql.ts'
import { listedAgents, type WorkflowRow } from '../runs/workflows.sql.ts'
import type { RunTexts } from './conversation.ts'
import { callsOf, type RunRows } from './next-act.ts'

export interface Turn {
  /** `null` if the run has a single agent and no workflow. */
  readonly turn_no: number | null
  readonly agent_id: string
  /** The first input of the turn, or `null` if that text is erased. */
  readonly input_text: string | null
}

/** Turns of one agent with equal input and answer after which a run ends. */
const REPEATS = 3

export interface RunPlan extends RunRows, RunTexts {
  /** `null` if the run has a single agent and no workflow. */
  readonly workflow: WorkflowRow | null
}

export const stepsOfTurn = (
  { steps }: Pick<RunRows, 'steps'>,
  { turn_no }: Pick<Turn, 'turn_no'>,
): StepRow[] => steps.filter((step) => step.turn_no === turn_no)

/** The step that holds the answer of a turn, or undefined while the turn is open. */
export function answerOf(rows: RunRows, turn: Pick<Turn, 'turn_no'>): StepRow | undefined {
  const last = stepsOfTurn(rows, turn).at(-1)
  return last?.state === 'completed' && callsOf(rows, last).length === 0 ? last : undefined
}

/** The open turns, each of which can proceed by itself. If there are none, the run is completed. */
export function listOpenTurns(plan: RunPlan): Turn[] {
  const { run, workflow, texts } = plan
  const input_text = texts.get(run.input_text_id ?? '')?.text ?? null
  const isOpen = (turn: Turn) => answerOf(plan, turn) === undefined
  if (workflow === null)
    return [{ turn_no: null, agent_id: run.agent_id, input_text }].filter(isOpen)
  const agent_ids = listedAgents(workflow)
  const all = agent_ids.map((agent_id, turn_no): Turn => ({ turn_no, agent_id, input_text }))
  switch (workflow.mode) {
    case 'parallel':
      return all.filter(isOpen)
    case 'supervisor': {
      const agent_id = workflow.supervisor_agent_id ?? ''
      return [{ turn_no: 0, agent_id, input_text }, ...listDelegated(plan)].filter(isOpen)
    }
    default: {
      const rounds = workflow.mode === 'round_robin' ? workflow.max_rounds : 1
      const turns = Array.from({ length: rounds }, () => agent_ids).flat()
      const turn_no = turns.findIndex((_, i) => answerOf(plan, { turn_no: i }) === undefined)
      const agent_id = turns[turn_no]
      if (agent_id === undefined) return []
      const before = turn_no === 0 ? undefined : answerOf(plan, { turn_no: turn_no - 1 })
      const given = before && (texts.get(before.output_text_id ?? '')?.text ?? null)
      return [{ turn_no, agent_id, input_text: before ? (given ?? null) : input_text }]
    }
  }
}

/** The supervisor's delegating calls, in order. The first of them starts turn 1. */
const delegations = (rows: RunRows): CallRow[] =>
  stepsOfTurn(rows, { turn_no: 0 })
    .flatMap((step) => callsOf(rows, step))
    .filter(({ tool_id }) => tool_id === null)

export const turnOfCall = (rows: RunRows, { call_id }: Pick<CallRow, 'call_id'>): number =>
  delegations(rows).findIndex((one) => one.call_id === call_id) + 1

function listDelegated(plan: RunPlan): Turn[] {
  return delegations(plan).flatMap((row, i) => {
    if (row.state !== 'intended') return []
    const text = plan.texts.get(row.args_text_id)?.text
    const args = text === undefined ? {} : argsOf(text).args
    // Both are strings, because the arguments fit the schema of the tool.
    const { agent_id, task } = args
    return [{ turn_no: i + 1, agent_id: String(agent_id), input_text: task ? String(task) : null }]
  })
}

/** Whether an agent repeats its turns, so that another round would add nothing. */
export function isLooping(plan: RunPlan): boolean {
  if (plan.workflow?.mode !== 'round_robin') return false
  const counts = new Map<string, number>()
  for (let turn_no = 0; ; turn_no += 1) {
    const answer = answerOf(plan, { turn_no })
    if (!answer) return [...counts.values()].some((count) => count >= REPEATS)
    const [first] = stepsOfTurn(plan, { turn_no })
    const textOf = (text_id: string | null | undefined) => plan.texts.get(text_id ?? '')?.text
    const said = [answer.agent_id, textOf(first?.input_text_id), textOf(answer.output_text_id)]
    const key = JSON.stringify(said)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
}

/** The agents that the agent of a turn may delegate to, or `null` if it is no supervisor. */
export const workersOf = (
  workflow: WorkflowRow | null,
  turn_no: number | null,
): readonly string[] | null =>
  workflow?.mode === 'supervisor' && turn_no === 0 ? listedAgents(workflow) : null

/** The tenant's tools that the agent may call, and the one with which it delegates. */
export function toolsOf(
  agent: OpenAgent | null,
  tools: readonly OpenTool[],
  workers: readonly OpenAgent[] | null,
): OpenTool[] {
  const named = agent?.words.tools ?? []
  const own = tools.filter(
    ({ words: { name } }) =>
      (named.length === 0 || named.includes(name)) && !(workers && name === DELEGATE),
  )
  const enabled = (workers ?? []).filter(({ row }) => row.enabled === 1)
  return enabled.length > 0 ? [...own, delegateTool(enabled)] : own
}

/** The tool has no row: it sends nothing out of the service, and a lost turn just continues. */
function delegateTool(workers: readonly OpenAgent[]): OpenTool {
  const listed = workers.map(({ row, words }) =>
    `${row.agent_id}: ${words.name} (${words.role}) ${words.description}`.trim(),
  )
  const input_schema: JsonObject = {
    type: 'object',
    properties: {
      agent_id: { type: 'string', enum: workers.map(({ row }) => row.agent_id) },
      task: { type: 'string', minLength: 1 },
    },
    required: ['agent_id', 'task'],
    additionalProperties: false,
  }
  return {
    row: {
      tool_id: '',
      name_key: '',
      version: 1,
      kind: 'http',
      // The calls of the delegated turn record their own effects.
      effect: 'read',
      enabled: 1,
      definition_label: '',
      secret_no: 0,
      sealed: Buffer.alloc(0),
      created_us: 0,
    },
    words: {
      name: DELEGATE,
      description: `Asks another agent to do a task. Agents: ${listed.join('; ')}`,
      input_schema,
      method: 'POST',
      url: '',
      headers: {},
    },
  }
}
