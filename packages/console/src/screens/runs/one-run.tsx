// One run: budget and deadline, its steps as they happen, and its receipts verified here.

import { call } from '@custos/client/core'
import {
  gcrumbsPublicKey,
  orchestratorBundle,
  orchestratorCancelRun,
  orchestratorGetRun,
  orchestratorReceipts,
  workflowsGet,
} from '@custos/client/operations'
import type { OrchestratorGetRunReply, Run, Workflow } from '@custos/client/types'
import { useMutation } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Download, ShieldCheck, Square } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useLive } from '../../api/live.tsx'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { counted, Facts, formatNumber, Meter } from '../../parts/display.tsx'
import { VerdictView } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { saveLines } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { RunPill } from './run-state.tsx'
import css from './runs.module.css'
import { useAgentNames } from './runs.tsx'
import { StepCard } from './step-card.tsx'

/** Poll interval if the event stream does not trigger refetches. */
const POLL_MS = 5_000

const isOpen = (run: Run | undefined): boolean => run !== undefined && run.ended_at === null

export function OneRun() {
  const id = String(useParams({ strict: false })['runId'])
  const { state } = useLive()
  const { data, error, request } = useCall(
    orchestratorGetRun,
    [id],
    state === 'live' ? {} : { refetchMs: POLL_MS },
  )
  const nameOf = useAgentNames()
  const workflowId = data?.workflow_id ?? ''
  const { data: workflow } = useCall(workflowsGet, [workflowId], { enabled: workflowId !== '' })
  return (
    <>
      <PageHeader
        title={data ? `Run of ${workflow?.name ?? nameOf(data.agent_id)}` : 'Run'}
        about={<Id value={id} />}
        actions={data && isOpen(data) && <CancelButton run={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && (
        <>
          <RunState run={data} />
          <Section title="Steps" about="As they happen, oldest first.">
            {data.steps.length === 0 && <EmptyState title="No step yet" />}
            {workflowId === '' ? (
              <Steps run={data} steps={data.steps} nameOf={nameOf} />
            ) : (
              <Turns run={data} mode={workflow?.mode} nameOf={nameOf} />
            )}
          </Section>
          <Receipts run={data} />
        </>
      )}
    </>
  )
}

const Steps = ({
  run,
  steps,
  nameOf,
}: {
  readonly run: OrchestratorGetRunReply
  readonly steps: OrchestratorGetRunReply['steps']
  readonly nameOf: (agentId: string) => string
}) => (
  <ol className={css['steps']}>
    {steps.map((step) => (
      <li key={step.step_id}>
        <StepCard step={step} agent={nameOf(step.agent_id)} open={isOpen(run)} />
      </li>
    ))}
  </ol>
)

/** The steps of a workflow by turn, in the order of turns. A turn is one agent's conversation. */
function Turns({
  run,
  mode,
  nameOf,
}: Omit<Parameters<typeof Steps>[0], 'steps'> & { readonly mode: Workflow['mode'] | undefined }) {
  const turns = Map.groupBy(run.steps, ({ turn_no }) => turn_no)
  return (
    <ol className={css['steps']} aria-label="Turns">
      {[...turns].map(([no, steps]) => {
        const [{ agent_id: agentId } = { agent_id: '' }] = steps
        const part = mode === 'supervisor' && (no === 0 ? ', who delegates' : ', by delegation')
        return (
          <li key={no} className={css['turn']}>
            <h3>
              Turn {(no ?? 0) + 1}: {nameOf(agentId)}
              {part}
            </h3>
            <Steps run={run} steps={steps} nameOf={nameOf} />
          </li>
        )
      })}
    </ol>
  )
}

function RunState({ run }: { readonly run: Run }) {
  const { budget, spent, reserved } = run
  const spends = [
    ['Tokens', spent.tokens + reserved.tokens, budget.tokens],
    ['Cost in millionths', spent.cost_micro + reserved.cost_micro, budget.cost_micro],
    ['Steps', run.steps_total, run.max_steps],
  ] as const
  return (
    <Section title="State">
      <div className={css['meters']}>
        {spends.map(([label, used, max]) =>
          max == null ? (
            <p key={label}>
              {label} <strong>{formatNumber(used)}</strong>, no limit
            </p>
          ) : (
            <Meter key={label} label={label} value={used} max={max} />
          ),
        )}
      </div>
      <Facts
        of={[
          ['State', <RunPill key="s" run={run} />],
          [
            'Reserved by open steps',
            reserved.tokens > 0 && `${formatNumber(reserved.tokens)} tokens`,
          ],
          ['Started', <Time key="b" value={run.created_at} />],
          ['Deadline', isOpen(run) && <Time value={run.deadline_at} relative />],
          ['Ended', run.ended_at && <Time value={run.ended_at} />],
          ['Started with credential', <Id key="k" value={run.started_by} />],
        ]}
      />
    </Section>
  )
}

function CancelButton({ run }: { readonly run: Run }) {
  const { can } = useSession()
  const [asking, setAsking] = useState(false)
  const cancel = useAction(orchestratorCancelRun)
  if (!can('orchestrator:run')) return null
  return (
    <>
      <Button kind="danger" icon={Square} onClick={() => setAsking(true)}>
        Cancel the run
      </Button>
      <ConfirmDialog
        title="Cancel the run"
        open={asking}
        onClose={() => setAsking(false)}
        verb="Cancel the run"
        act={() => cancel.mutateAsync([run.run_id])}
      >
        <p>
          It gets no further permit, and nothing of it is executed. What open steps reserved counts
          as spent.
        </p>
      </ConfirmDialog>
    </>
  )
}

/** Reads the bundle of a run and verifies it with the published keys. */
async function verifyHere(runId: string, signal: AbortSignal) {
  const [{ verifyRunBundle }, keys] = await Promise.all([
    import('@custos/proof'),
    call(client, gcrumbsPublicKey),
  ])
  const lines: unknown[] = []
  for await (const line of call(client, orchestratorBundle, runId, { signal })) lines.push(line)
  return verifyRunBundle(lines, keys)
}

function Receipts({ run }: { readonly run: Run }) {
  const { can } = useSession()
  const { data, error } = useCall(orchestratorReceipts, [run.run_id])
  const proves = can('decisions:read') && can('gcrumbs:read')
  return (
    <Section
      title="Receipts"
      about="One for each ended step, signed, chained by digest, without any text."
      actions={proves && <SaveBundle runId={run.run_id} />}
    >
      {error && <ErrorState error={error} />}
      {proves && <VerifyRun runId={run.run_id} />}
      {data && data.count > 0 && (
        <details>
          <summary>{counted(data.count, 'receipt')}</summary>
          <CodeBlock label="Receipts" text={JSON.stringify(data.receipts, null, 2)} />
        </details>
      )}
    </Section>
  )
}

function VerifyRun({ runId }: { readonly runId: string }) {
  const verify = useMutation({
    mutationFn: (stop: AbortController) => verifyHere(runId, stop.signal),
  })
  return (
    <div className={css['verify']}>
      <div className={css['acts']}>
        <Button
          icon={ShieldCheck}
          busy={verify.isPending}
          onClick={() => verify.mutate(new AbortController())}
        >
          Verify the run here
        </Button>
        {verify.isPending && <Button onClick={() => verify.variables.abort()}>Cancel</Button>}
      </div>
      {verify.error && <ErrorState error={verify.error} />}
      {verify.data && <VerdictView verdict={verify.data} />}
    </div>
  )
}

function SaveBundle({ runId }: { readonly runId: string }) {
  const save = useMutation({
    mutationFn: () => saveLines(call(client, orchestratorBundle, runId), `run-${runId}.ndjson`),
  })
  return (
    <>
      <Button icon={Download} busy={save.isPending} onClick={() => save.mutate()}>
        Save the bundle
      </Button>
      {save.error && <ErrorState error={save.error} />}
    </>
  )
}
