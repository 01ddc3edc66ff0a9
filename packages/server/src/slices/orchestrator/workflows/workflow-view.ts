// How workflows and their steps are shown. Texts are included if the caller may read them.

import type { Workflow, WorkflowStep } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call } from '../../../platform/kernel/call.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { mayReadTexts } from '../runs/agent-actions.ts'
import { toolOf } from '../runs/call-tool.ts'
import { listCalls, listSteps, type RunRow } from '../runs/orchestrator.sql.ts'
import { showStep } from '../runs/run-view.ts'
import { listedAgents, type WorkflowRow } from '../runs/workflows.sql.ts'

export type WorkflowText = {
  readonly name: string
  readonly description: string
}

export function showWorkflow(
  row: WorkflowRow,
  words: WorkflowText | undefined,
  { tenant_id, run }: { readonly tenant_id: string; readonly run: RunRow | null },
): Workflow {
  const agent_ids = listedAgents(row)
  return {
    workflow_id: row.workflow_id,
    tenant_id,
    name: words?.name ?? '',
    description: words?.description ?? '',
    agent_ids,
    agents: agent_ids,
    mode: row.mode,
    supervisor_agent_id: row.supervisor_agent_id,
    max_rounds: row.max_rounds,
    max_total_steps: row.max_total_steps,
    one_at_a_time: row.one_at_a_time === 1,
    status: run?.state ?? 'created',
    run_id: run?.run_id ?? null,
    termination_reason: run?.termination_reason ?? null,
    current_step: run?.steps ?? 0,
    total_tokens: run?.spent_tokens ?? 0,
    started_at: run ? formatTime(run.created_us) : null,
    completed_at: run?.ended_us == null ? null : formatTime(run.ended_us),
    created_at: formatTime(row.created_us),
    steps: [],
  }
}

/** Oldest first. */
export async function showSteps(
  call: Pick<Call, 'kernel' | 'principal'>,
  db: TenantDb,
  { run_id, workflow_id, executor }: RunRow,
): Promise<WorkflowStep[]> {
  const steps = await listSteps(db, run_id)
  const calls = await listCalls(db, run_id)
  const may = mayReadTexts(call)
  const texts = may ? await openTextsOfRun(call.kernel, db, run_id) : new Map<string, never>()
  const textOf = (text_id: string | null): string | null => texts.get(text_id ?? '')?.text ?? null
  return steps.map((row) => {
    const shown = showStep(row, calls)
    const answer = textOf(row.output_text_id)
    const made = calls.filter(({ step_no }) => step_no === row.step_no)
    const output_text =
      answer !== null && made.length > 0 && executor === 'managed' ? textOfAnswer(answer) : answer
    return {
      ...shown,
      workflow_id,
      tenant_id: db.tenant_id,
      status: shown.state,
      step_number: shown.step_no,
      step_index: shown.step_no - 1,
      decision_id: shown.decision_id ?? '',
      input_text: textOf(row.input_text_id),
      raw_output: output_text,
      output_text,
      tokens_used: shown.tokens_out ?? 0,
      token_usage: (shown.tokens_in ?? 0) + (shown.tokens_out ?? 0),
      tools_called: made.flatMap((one) => toolOf(textOf(one.args_text_id) ?? undefined) ?? []),
      governance_allowed: shown.state !== 'denied',
    }
  })
}

/** The text of an answer that asks for calls, whose JSON answered-step.ts writes. */
const textOfAnswer = (answer: string): string => JSON.parse(answer).text
