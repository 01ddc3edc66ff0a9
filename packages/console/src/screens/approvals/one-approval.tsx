// One approval request: the proposal in full, why it waits, the decision, and its record.

import { approvalsRequest, approvalsVerify, orchestratorGetAction } from '@custos/client/operations'
import type { ApprovalsRequestReply } from '@custos/client/types'
import { useParams } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Facts, inWords } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './approvals.module.css'
import { ApprovalPill } from './approvals.tsx'
import { Decide } from './decide.tsx'
import { messageOf } from './signing-key.ts'

export function OneApproval() {
  const id = String(useParams({ strict: false })['requestId'])
  const { data, error, request } = useCall(approvalsRequest, [id])
  return (
    <>
      <PageHeader
        title={data ? `Approval: ${inWords(data.action)}` : 'Approval request'}
        about={<Id value={id} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <RequestBody request={data} />}
    </>
  )
}

function RequestBody({ request }: { readonly request: ApprovalsRequestReply }) {
  const pending = request.status === 'pending'
  return (
    <>
      <p className={css['state']}>
        <ApprovalPill status={request.status} />{' '}
        {pending && (
          <>
            expires <Time value={request.expires_at} relative />
          </>
        )}
      </p>
      <Section title="What is proposed">
        {request.kind === 'agent_action' && <ActionText actionId={request.record_id} />}
        <CodeBlock label="Request" text={JSON.stringify(request.request, null, 2)} />
      </Section>
      <Section title="Why it waits">
        <ul className={css['policies']}>
          {request.policies.map(({ policy_id, version, name, reason }) => (
            <li key={policy_id}>
              <strong>{name}</strong>, version {version}: {inWords(reason)}
            </li>
          ))}
        </ul>
      </Section>
      {pending && <Decide request={request} />}
      {request.record && <DecisionRecord request={request} record={request.record} />}
      <Section title="About it">
        <Facts
          of={[
            ['Record', `${inWords(request.kind)} ${request.record_id}`],
            ['Asked', <Time key="t" value={request.issued_at} />],
            ['Asked with credential', <Id key="i" value={request.requested_by} />],
            ['Set of policies', request.policy_set],
            ['Digest of the proposal', <Id key="d" value={request.proposal_digest} />],
          ]}
        />
      </Section>
      <details>
        <summary>The exact bytes to sign</summary>
        {(['approve', 'deny'] as const).map((decision) => (
          <CodeBlock
            key={decision}
            label={`Bytes to ${decision}`}
            text={`${messageOf(request, decision)}\n\nbase64: ${request.signing_input[decision]}`}
          />
        ))}
      </details>
    </>
  )
}

/** The text behind the commitment in an agent's request, for callers who may read runs. */
function ActionText({ actionId }: { readonly actionId: string }) {
  const { can } = useSession()
  const isShown = can('orchestrator:run')
  const { data, error } = useCall(orchestratorGetAction, [actionId], { enabled: isShown })
  if (error) return <ErrorState error={error} />
  if (!isShown) return <p>With the scope orchestrator:run you see what the agent would do.</p>
  return data?.text ? <CodeBlock label="What is to be approved" text={data.text} /> : null
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function DecisionRecord(props: {
  readonly request: ApprovalsRequestReply
  readonly record: Readonly<Record<string, unknown>>
}) {
  const { request, record } = props
  const [asked, setAsked] = useState(false)
  const { data, error } = useCall(approvalsVerify, [request.request_id], { enabled: asked })
  return (
    <Section title="The decision" about="Signed by the service, and by the approver who has a key.">
      <Facts
        of={[
          ['Decided by', textOf(record['approver'])],
          ['Reason', textOf(record['reason'])],
          ['Decided', <Time key="t" value={textOf(record['decided_at'])} />],
        ]}
      />
      <div className={css['verify']}>
        <VerifyHere value={record} />
        <Button icon={ShieldCheck} onClick={() => setAsked(true)}>
          Ask the service to verify
        </Button>
        {error && <ErrorState error={error} />}
        {data && (
          <div role="status">
            <strong>{data.passed ? 'The record verifies.' : 'The record does not verify.'}</strong>
            <ul className={css['policies']}>
              {data.checks.map(({ name, ok }) => (
                <li key={name}>
                  {ok ? '✓' : '✗'} {inWords(name)}
                </li>
              ))}
              {data.not_checked.map((name) => (
                <li key={name}>Not checked: {inWords(name)}</li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </Section>
  )
}
