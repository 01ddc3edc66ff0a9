// One record: its status, document and members, a pending approval, and its verification.

import { Link } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Facts, inWords, Pill } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ApprovalCard } from '../approvals/decide.tsx'
import { StatusPill } from './record-list.tsx'
import css from './registries.module.css'
import type { RecordRow, RegistrySpec } from './registry.ts'

export function RecordView<Row extends RecordRow, One extends RecordRow>(props: {
  readonly registry: string
  readonly id: string
  readonly spec: RegistrySpec<Row, One>
}) {
  const { registry, id, spec } = props
  const { data, error, request } = spec.useOne(id)
  const { Acts } = spec
  return (
    <>
      <PageHeader
        title={data ? spec.nameOf(data) : spec.title}
        about={
          <>
            <Link to="/registries/$registry" params={{ registry }} search={{}}>
              {spec.title}
            </Link>{' '}
            <Id value={id} />
          </>
        }
        actions={data && Acts && <Acts record={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <RecordBody id={id} spec={spec} record={data} />}
    </>
  )
}

function RecordBody<Row extends RecordRow, One extends RecordRow>(props: {
  readonly id: string
  readonly spec: RegistrySpec<Row, One>
  readonly record: One
}) {
  const { id, spec, record } = props
  const { Members } = spec
  const { approval } = record
  return (
    <>
      <p className={css['state']}>
        <StatusPill record={record} /> {record.redacted && <Pill tone="warn">redacted</Pill>}{' '}
        {record.reason}
      </p>
      {record.status === 'waiting_hitl' && record.approval_request_id && (
        <ApprovalCard requestId={record.approval_request_id} />
      )}
      <Section title="About it">
        <Facts
          of={[
            ...spec.facts(record),
            ['Registered', <Time key="t" value={record.created_at} />],
            ['Asked with credential', <Id key="b" value={record.requested_by} />],
            ['Approved by', approval && `${approval.approver} (${approval.decided_by})`],
            ['Signed with key', record.key_id && <Id key="k" value={record.key_id} />],
          ]}
        />
      </Section>
      <Members record={record} />
      {record.document ? (
        <Proof id={id} spec={spec} document={record.document} />
      ) : (
        <Section title="Proof">
          <p>Nothing is signed: the record was not accepted, or not yet.</p>
        </Section>
      )}
    </>
  )
}

function Proof<Row extends RecordRow, One extends RecordRow>(props: {
  readonly id: string
  readonly spec: RegistrySpec<Row, One>
  readonly document: object
}) {
  const { id, spec, document } = props
  const [asked, setAsked] = useState(false)
  const { data, error } = useCall(spec.verify, [id], { enabled: asked })
  return (
    <Section title="Proof" about="The record as it was signed.">
      <div className={css['proof']}>
        <VerifyHere value={document} />
        <Button icon={ShieldCheck} onClick={() => setAsked(true)}>
          Ask the service to verify
        </Button>
        {error && <ErrorState error={error} />}
        {data && (
          <div role="status">
            <strong>The record {data.passed ? 'verifies' : 'does not verify'}.</strong>{' '}
            {data.reason}
            <ul className={css['checks']}>
              {Object.entries(data.checks).map(([name, ok]) => (
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
        <details>
          <summary>The signed document</summary>
          <CodeBlock label="Signed document" text={JSON.stringify(document, null, 2)} />
        </details>
      </div>
    </Section>
  )
}
