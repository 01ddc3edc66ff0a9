// One step of a run: its permit, its tool calls, and a pending approval.

import {
  orchestratorGetAction,
  orchestratorGetStep,
  orchestratorResolveCall,
} from '@custos/client/operations'
import type { RunCall, RunStep } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { counted, Facts, formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextArea } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ApprovalCard } from '../approvals/decide.tsx'
import { stateText } from './run-state.tsx'
import css from './runs.module.css'

const TONES: Readonly<
  Record<RunStep['state'] | RunCall['state'], 'accent' | 'warn' | 'good' | 'bad'>
> = {
  waiting_hitl: 'warn',
  permitted: 'accent',
  answered: 'accent',
  intended: 'accent',
  completed: 'good',
  done: 'good',
  denied: 'bad',
  failed: 'bad',
  uncertain: 'warn',
}

const StatePill = ({ of: { state, reason } }: { readonly of: RunStep | RunCall }) => (
  <Pill tone={TONES[state]}>
    {stateText(state)}
    {reason && `: ${inWords(reason)}`}
  </Pill>
)

export function StepCard(props: {
  readonly step: RunStep
  readonly agent: string
  /** Whether the run has not ended. */
  readonly open: boolean
}) {
  const { step, agent, open } = props
  // After a step has ended, its receipt is signed and nothing in it can change.
  const asks = open && step.ended_at === null
  const uncertain = asks ? step.calls.filter(({ state }) => state === 'uncertain') : []
  const waiting = [step, ...step.calls].find(({ state }) => state === 'waiting_hitl')
  const tokens = step.tokens_in === null ? null : step.tokens_in + (step.tokens_out ?? 0)
  return (
    <article className={css['step']} aria-label={`Step ${step.step_no}`}>
      <h3>
        {step.step_no}. {agent} asks {step.model_id} <StatePill of={step} />
      </h3>
      <Facts
        of={[
          ['Memories', memoriesOf(step)],
          ['Tokens', tokens === null ? `at most ${formatNumber(step.max_tokens)}` : tokens],
          ['Began', <Time key="b" value={step.created_at} />],
          ['Permit ends', step.expires_at && <Time value={step.expires_at} relative />],
          ['Decision', step.decision_id && <DecisionLink decisionId={step.decision_id} />],
        ]}
      />
      {step.calls.length > 0 && (
        <ul className={css['calls']} aria-label="Calls of tools">
          {step.calls.map((call) => (
            <li key={call.call_id}>
              Call <Id value={call.call_id} copy={false} />, {call.effect} <StatePill of={call} />
            </li>
          ))}
        </ul>
      )}
      {waiting?.action_id && <WaitingAction actionId={waiting.action_id} />}
      {uncertain.map((call) => (
        <ResolveCall key={call.call_id} call={call} />
      ))}
      <StepText step={step} />
    </article>
  )
}

const memoriesOf = ({ store_id: store, retrieved_refs: refs, inherited_refs: more }: RunStep) =>
  `${counted(refs.length, 'memory', 'memories')}${store === null ? '' : ` of ${store}`}${
    more.length > 0 ? `, ${more.length} through its input` : ''
  }`

const DecisionLink = ({ decisionId }: { readonly decisionId: string }) => (
  <Link to="/decisions/$decisionId" params={{ decisionId }} search={{}}>
    <Id value={decisionId} copy={false} />
  </Link>
)

/** The pending action, and the form of the decision. */
function WaitingAction({ actionId }: { readonly actionId: string }) {
  const { data, error } = useCall(orchestratorGetAction, [actionId])
  if (error) return <ErrorState error={error} />
  return (
    <>
      {data?.text && <CodeBlock label="What is to be approved" text={data.text} />}
      {data?.approval_request_id && <ApprovalCard requestId={data.approval_request_id} />}
    </>
  )
}

function StepText({ step }: { readonly step: RunStep }) {
  const { can } = useSession()
  const [asked, setAsked] = useState(false)
  const { data, error } = useCall(orchestratorGetStep, [step.run_id, step.step_id], {
    enabled: asked,
  })
  if (!can('decisions:read')) return null
  if (!asked) return <Button onClick={() => setAsked(true)}>Show input and memory</Button>
  if (error) return <ErrorState error={error} />
  if (!data) return null
  return (
    <>
      <CodeBlock label="Input" text={data.input_text ?? 'The input was erased.'} />
      {data.memory.length > 0 && (
        <ul className={css['calls']} aria-label="Memory">
          {data.memory.map(({ ref, content }) => (
            <li key={ref}>
              <strong>{ref}</strong> {content}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** The answers. None is preselected, because a wrong answer cannot be undone. */
const ANSWERS = [
  ['', 'Choose'],
  ['yes', 'The tool acted'],
  ['no', 'The tool did not act'],
] as const

function ResolveCall({ call }: { readonly call: RunCall }) {
  const { can } = useSession()
  const [happened, setHappened] = useState('')
  const [result, setResult] = useState('')
  const resolve = useAction(orchestratorResolveCall)
  const { run_id, call_id } = call
  return (
    <Section
      title="Did the tool act?"
      about="Its call was cut off, and is never made again. Look at the receiver first."
    >
      {!can('orchestrator:admin') && <p>Your scopes do not cover this: somebody else answers.</p>}
      {can('orchestrator:admin') && (
        <Form
          label={`Outcome of the call ${call_id}`}
          onSubmit={() =>
            resolve.mutate([
              run_id,
              call_id,
              { happened: happened === 'yes', result: result === '' ? null : result },
            ])
          }
        >
          <SelectField
            label="What happened"
            value={happened}
            options={ANSWERS}
            onChange={setHappened}
          />
          <TextArea
            label="What it answered"
            hint="The model is told this; it can be empty."
            value={result}
            onChange={setResult}
          />
          {resolve.error && <ErrorState error={resolve.error} />}
          <Button type="submit" kind="primary" busy={resolve.isPending} disabled={happened === ''}>
            Record the outcome
          </Button>
        </Form>
      )}
    </Section>
  )
}
