// Approves or denies: by name, with this browser's key, or with a signature made elsewhere; on a
// page of its own, and in place beside the record of another screen.

import { call, type Operation } from '@custos/client/core'
import {
  approvalsAttest,
  approvalsRequest,
  approvalsSettings,
  artifactsApprove,
  artifactsReject,
  compositionsApprove,
  compositionsReject,
  landingApprove,
  landingReject,
  orchestratorApproveAction,
  orchestratorRejectAction,
  worldModelApproveAction,
  worldModelRejectAction,
} from '@custos/client/operations'
import type { ApprovalsRequestReply, ResumeRequest } from '@custos/client/types'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { type Scope, useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { inWords } from '../../parts/display.tsx'
import { SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './approvals.module.css'
import { useBrowserKey } from './browser-key.tsx'
import { type ApprovalDecision, mismatchOf, type SigningKey, signBytes } from './signing-key.ts'

export function ApprovalCard({ requestId }: { readonly requestId: string }) {
  const { can } = useSession()
  const { data, error } = useCall(approvalsRequest, [requestId], {
    enabled: can('compliance:read'),
  })
  if (!can('compliance:read'))
    return (
      <Section title="It waits for an approval">
        <p>Your scopes do not cover approval requests: somebody else decides.</p>
      </Section>
    )
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  if (data.status !== 'pending') return null
  return (
    <>
      <Section
        title="It waits for an approval"
        about={
          <>
            The request expires <Time value={data.expires_at} relative />.{' '}
            <Link to="/approvals/$requestId" params={{ requestId }} search={{}}>
              All about the request
            </Link>
          </>
        }
      >
        <ul className={css['policies']}>
          {data.policies.map(({ policy_id, name, reason }) => (
            <li key={policy_id}>
              <strong>{name}</strong>: {inWords(reason)}
            </li>
          ))}
        </ul>
        <CodeBlock label="Request" text={JSON.stringify(data.request, null, 2)} />
      </Section>
      <Decide request={data} />
    </>
  )
}

type Registry = Readonly<
  Record<ApprovalDecision, Operation<[id: string, body: ResumeRequest], PromiseLike<unknown>>>
> & { readonly scope: Scope }

/** The operations that decide by name, for each kind of record that can wait. */
const REGISTRIES: Readonly<Record<string, Registry>> = {
  artifact: { approve: artifactsApprove, deny: artifactsReject, scope: 'artifacts:admin' },
  composition: { approve: compositionsApprove, deny: compositionsReject, scope: 'artifacts:admin' },
  landing: { approve: landingApprove, deny: landingReject, scope: 'compliance:admin' },
  action: {
    approve: worldModelApproveAction,
    deny: worldModelRejectAction,
    scope: 'artifacts:admin',
  },
  agent_action: {
    approve: orchestratorApproveAction,
    deny: orchestratorRejectAction,
    scope: 'orchestrator:admin',
  },
}

export function Decide({ request }: { readonly request: ApprovalsRequestReply }) {
  const { can } = useSession()
  const settings = useCall(approvalsSettings, [])
  const key = useBrowserKey()
  const match = useQuery({
    queryKey: ['signed-bytes', request.request_id, request.proposal_digest],
    queryFn: () => mismatchOf(request),
    retry: false,
  })
  const error = settings.error ?? match.error
  if (error) return <ErrorState error={error} />
  if (!settings.data || key.isPending || match.data === undefined) return <LoadingState />
  if (match.data !== null)
    return (
      <Section title="Decide">
        <ErrorState error={new Error(`${match.data} Do not sign it.`)} />
      </Section>
    )
  const registry = REGISTRIES[request.kind]
  const byName = !settings.data.attestation_required && registry && can(registry.scope)
  const signs = can('compliance:admin')
  if (!signs && !byName) return null
  return (
    <DecideForm
      request={request}
      byName={byName ? registry : null}
      ownKey={key.data ?? null}
      signs={signs}
    />
  )
}

interface DecideFormProps {
  readonly request: ApprovalsRequestReply
  /** The operations that decide by name; null if the caller may use none. */
  readonly byName: Registry | null
  readonly ownKey: SigningKey | null
  /** Whether the caller may send a signature. */
  readonly signs: boolean
}

const WAYS = {
  key: 'With the key of this browser',
  name: 'By name',
  paste: 'With a signature made elsewhere',
} as const
type Way = keyof typeof WAYS

const FIRST = { name: '', signer: '', signature: '', reason: '' }
type DecisionFields = typeof FIRST

const isFilled = (way: Way, { name, signer, signature }: DecisionFields): boolean =>
  way === 'key' || (way === 'name' ? name.trim() !== '' : signer !== '' && signature !== '')

function waysOf({ byName, ownKey, signs }: DecideFormProps): Way[] {
  const ways: Way[] = []
  if (ownKey && signs) ways.push('key')
  if (byName) ways.push('name')
  if (signs) ways.push('paste')
  return ways
}

async function sendDecision(
  { request, byName, ownKey }: DecideFormProps,
  way: Way,
  { name, signer, signature, reason: why }: DecisionFields,
  decision: ApprovalDecision,
): Promise<void> {
  const reason = why === '' ? {} : { reason: why }
  if (way === 'name' && byName) {
    await call(client, byName[decision], request.record_id, { approver: name.trim(), ...reason })
    return
  }
  const signed =
    way === 'key' && ownKey
      ? await signedBy(ownKey, request, decision)
      : { signer_id: signer.trim(), signature: signature.trim() }
  await call(client, approvalsAttest, request.request_id, { decision, ...signed, ...reason })
}

function DecideForm(props: DecideFormProps) {
  const { request } = props
  const queries = useQueryClient()
  const ways = waysOf(props)
  const [chosen, setWay] = useState<Way | null>(null)
  const way = chosen ?? ways[0] ?? 'paste'
  const [fields, setFields] = useState(FIRST)
  const [decision, setDecision] = useState<ApprovalDecision | null>(null)
  const act = async (made: ApprovalDecision) => {
    await sendDecision(props, way, fields, made)
    await queries.invalidateQueries()
  }
  return (
    <Section
      title="Decide"
      about="This browser made the digest from the proposal and found it in the bytes to sign."
    >
      <div className={css['decide']}>
        <SelectField
          label="How"
          value={way}
          onChange={(value) => setWay(ways.find((one) => one === value) ?? null)}
          options={ways.map((one) => [one, WAYS[one]] as const)}
        />
        {!ways.includes('key') && ways.includes('paste') && <KeyHint />}
        <WayFields way={way} fields={fields} onChange={setFields} />
        <div className={css['buttons']}>
          {(['approve', 'deny'] as const).map((made) => (
            <Button
              key={made}
              kind={made === 'deny' ? 'danger' : 'primary'}
              disabled={!isFilled(way, fields)}
              onClick={() => setDecision(made)}
            >
              {VERBS[made]}
            </Button>
          ))}
        </div>
      </div>
      <ConfirmDialog
        title={`${VERBS[decision ?? 'deny']} this request`}
        open={decision !== null}
        onClose={() => setDecision(null)}
        verb={VERBS[decision ?? 'deny']}
        act={() => act(decision ?? 'deny')}
      >
        <p>
          {inWords(request.action)}: {EFFECTS[decision ?? 'deny']} {WAYS[way]}. The decision is
          final.
        </p>
      </ConfirmDialog>
    </Section>
  )
}

const VERBS = { approve: 'Approve', deny: 'Deny' } as const
const EFFECTS = {
  approve: 'it is carried out at once, if the policies still allow it.',
  deny: 'nothing is issued.',
} as const

async function signedBy(key: SigningKey, request: ApprovalsRequestReply, made: ApprovalDecision) {
  const signature = await signBytes(key, request.signing_input[made])
  return { signer_id: key.approver_id, signature }
}

const KeyHint = () => (
  <p>
    To sign your decision with a key of this browser,{' '}
    <Link to="/approvals" search={{}}>
      make a key first
    </Link>
    .
  </p>
)

function WayFields(props: {
  readonly way: Way
  readonly fields: DecisionFields
  readonly onChange: (fields: DecisionFields) => void
}) {
  const { way, fields, onChange } = props
  const put = (change: Partial<DecisionFields>) => onChange({ ...fields, ...change })
  return (
    <>
      {way === 'name' && (
        <TextField
          label="Your name"
          maxLength={256}
          value={fields.name}
          onChange={(name) => put({ name })}
        />
      )}
      {way === 'paste' && (
        <>
          <TextField
            label="Id of the approver"
            value={fields.signer}
            onChange={(signer) => put({ signer })}
          />
          <TextField
            label="Signature"
            hint="Ed25519 over the exact bytes below, in base64 or hexadecimal"
            value={fields.signature}
            onChange={(signature) => put({ signature })}
          />
        </>
      )}
      <TextArea
        label="Reason"
        hint="Becomes part of the signed record"
        rows={2}
        maxLength={2_000}
        value={fields.reason}
        onChange={(reason) => put({ reason })}
      />
    </>
  )
}
