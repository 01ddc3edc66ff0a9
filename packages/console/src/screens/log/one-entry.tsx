// One entry of the audit log: what happened, its hash, and its place under a signed checkpoint.

import {
  gcrumbsBreadcrumbs,
  gcrumbsProof,
  gcrumbsRoll,
  gcrumbsStats,
} from '@custos/client/operations'
import type { Breadcrumb, Epoch, GcrumbsProofReply } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { cosignatureRows, Facts } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { saveBlob } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { type Inclusion, InclusionPath, LeafVerdict, leafOf } from './inclusion-path.tsx'
import css from './log.module.css'

export function OneEntry() {
  const seq = Number(useParams({ strict: false })['seq'])
  const isPosition = Number.isSafeInteger(seq) && seq >= 0
  const { data, error, request } = useCall(gcrumbsBreadcrumbs, [{ offset: seq, limit: 1 }], {
    enabled: isPosition,
  })
  const entry = data?.breadcrumbs[0]
  const isMissing = !isPosition || (data !== undefined && !entry)
  return (
    <>
      <PageHeader
        title={isPosition ? `Entry ${seq}` : 'Entry'}
        about={entry?.event_type}
        request={request}
        actions={entry && <Neighbours seq={seq} />}
      />
      {error && <ErrorState error={error} />}
      {isMissing && <EmptyState title="The log has no such entry" />}
      {!data && !error && isPosition && <LoadingState />}
      {entry && <EntryBody entry={entry} />}
    </>
  )
}

function Neighbours({ seq }: { readonly seq: number }) {
  const link = (to: number, text: string) => (
    <Link to="/log/$seq" params={{ seq: String(to) }} search={{}}>
      {text}
    </Link>
  )
  return (
    <nav className={css['neighbours']} aria-label="Entries beside this one">
      {seq > 0 && link(seq - 1, 'Previous')}
      {link(seq + 1, 'Next')}
    </nav>
  )
}

function EntryBody({ entry }: { readonly entry: Breadcrumb }) {
  const { data, error } = useCall(gcrumbsStats, [])
  const last = data?.last_epoch
  return (
    <>
      <Section title="About it">
        <Facts
          of={[
            ['Subject', entry.subject],
            ['Recorded', <Time key="t" value={entry.created_at} />],
            ['Id', <Id key="i" value={entry.breadcrumb_id} />],
            ['Id of the entry before', <Id key="p" value={entry.prev_id} />],
          ]}
        />
      </Section>
      <Section title="What it says" about="Ids, numbers and digests. A log entry has no content.">
        <CodeBlock label="Payload" text={JSON.stringify(entry.payload, null, 2)} />
      </Section>
      <Section
        title="Its place in the log"
        about={
          'Each hash is computed in this browser: an altered entry does not lead to the root ' +
          'that was signed.'
        }
      >
        {error && <ErrorState error={error} />}
        {data && last && last.tree_size > entry.seq && <Included entry={entry} epoch={last} />}
        {data && !(last && last.tree_size > entry.seq) && <NotCovered entry={entry} />}
      </Section>
    </>
  )
}

function NotCovered({ entry }: { readonly entry: Breadcrumb }) {
  return (
    <>
      <p className={css['verdict']} role="status">
        <LeafVerdict entry={entry} leaf={leafOf(entry)} />
      </p>
      <p>No checkpoint covers this entry yet; the next one will.</p>
      <RollButton />
    </>
  )
}

/** The button that signs a checkpoint. Hidden if the caller may not. */
export function RollButton() {
  const { can } = useSession()
  const roll = useAction(gcrumbsRoll)
  if (!can('gcrumbs:admin')) return null
  return (
    <>
      <Button busy={roll.isPending} onClick={() => roll.mutate([{}])}>
        Sign a checkpoint now
      </Button>
      {roll.error && <ErrorState error={roll.error} />}
    </>
  )
}

const isWhole = (proof: GcrumbsProofReply): proof is GcrumbsProofReply & Inclusion =>
  proof.included && proof.breadcrumb !== undefined && proof.audit_path !== undefined

function Included({ entry, epoch }: { readonly entry: Breadcrumb; readonly epoch: Epoch }) {
  const { data, error } = useCall(gcrumbsProof, [epoch.epoch_number, { seq: entry.seq }])
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  if (!isWhole(data)) return <p>{data.reason ?? 'The checkpoint does not cover this entry.'}</p>
  const save = () => saveBlob(new Blob([data.tlog_proof ?? '']), `entry-${entry.seq}.tlog-proof`)
  return (
    <>
      <Facts of={[['Checkpoint', data.epoch_number], ...cosignatureRows(data)]} />
      <InclusionPath proof={data} />
      <div className={css['acts']}>
        <VerifyHere value={data} />
        <Button icon={Download} onClick={save}>
          Download proof
        </Button>
      </div>
    </>
  )
}
