// Policies: the set in force, a request to try, and the results of evaluations.

import {
  governanceEvaluate,
  governanceListPolicies,
  governanceLogs,
  governancePolicyTypes,
  governanceSeedDefaults,
  governanceStats,
} from '@custos/client/operations'
import type { GovernanceEvaluateReply, GovernanceLog, Policy } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { nowMs, parseTime } from '../../ambient.ts'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Figure, Figures, formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { CheckField, Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import css from './policies.module.css'
import { PolicyForm } from './policy-form.tsx'
import { ResultPill, ResultsTable } from './results.tsx'

const DAY_MS = 86_400_000
const COUNTED = 500

/** How often the result of a policy was not `allowed` in the last day. */
type Hits = (policyId: string) => string

function hitsOf(logs: readonly GovernanceLog[]): Hits {
  const since = nowMs() - DAY_MS
  const recent = logs.filter(({ created_at: at }) => (parseTime(at) ?? 0) >= since)
  // If the last day fills the page, there may be more.
  const more = recent.length === COUNTED ? '+' : ''
  return (policyId) => {
    const hits = recent.filter((log) => log.policy_id === policyId && log.result !== 'allowed')
    return `${formatNumber(hits.length)}${more}`
  }
}

const columnsWith = (hits: Hits): readonly Column<Policy>[] => [
  { id: 'priority', header: 'Order', numeric: true, cell: ({ priority }) => priority },
  {
    id: 'name',
    header: 'Policy',
    grow: true,
    cell: ({ policy_id: policyId, name, description }) => (
      <>
        <Link to="/policies/$policyId" params={{ policyId }} search={{}}>
          {name}
        </Link>
        <p className={css['detail']}>{description}</p>
      </>
    ),
  },
  {
    id: 'type',
    header: 'Type',
    cell: ({ policy_type: type }) => <span className={css['name']}>{inWords(type)}</span>,
  },
  { id: 'action', header: 'Action', cell: ({ action }) => <ActionPill action={action} /> },
  {
    id: 'enabled',
    header: 'State',
    cell: ({ enabled }) => (enabled ? <Pill tone="good">in force</Pill> : <Pill>off</Pill>),
  },
  { id: 'hits', header: 'Hits in 24 h', numeric: true, cell: ({ policy_id: id }) => hits(id) },
  { id: 'version', header: 'Version', numeric: true, cell: ({ version }) => version },
]

const ACTION_TONES = { allow: 'good', deny: 'bad', escalate: 'warn', log_only: 'accent' } as const

export const ActionPill = ({ action }: Pick<Policy, 'action'>) => (
  <Pill tone={ACTION_TONES[action]}>{inWords(action)}</Pill>
)

export function Policies() {
  const list = useList(governanceListPolicies, [usePage()], ({ policies }) => policies)
  const { data, error } = useCall(governanceLogs, [{ limit: COUNTED }], { keep: true })
  return (
    <>
      <PageHeader
        title="Policies"
        about="Each request passes them in this order. A denial takes precedence over an approval."
        actions={<PolicyActions />}
      />
      <PolicyFigures />
      {error && <ErrorState error={error} />}
      <Section title="In order of evaluation">
        <Table
          label="Policies"
          list={list}
          columns={columnsWith(hitsOf(data?.logs ?? []))}
          rowId={({ policy_id: id }) => id}
          rowLink={({ policy_id: policyId }) => ({
            to: '/policies/$policyId',
            params: { policyId },
          })}
          empty={
            <EmptyState title="No policies yet">
              <p>Without one every request is allowed. The defaults are a beginning.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section
        title="Try a request"
        about="What the policies in force say to it, one by one. Nothing else happens."
      >
        <TryRequest />
      </Section>
      <Section title="Results" about="Newest first, without what was asked">
        <ResultsTable />
      </Section>
    </>
  )
}

function PolicyFigures() {
  const { data } = useCall(governanceStats, [])
  return (
    <Figures>
      <Figure label="Policies in force" value={data?.policies_active} />
      <Figure label="Results" value={data?.evaluations_total} />
      <Figure label="Denials" value={data?.denials_total} />
      <Figure label="Sent to approval" value={data?.escalations_total} />
    </Figures>
  )
}

function PolicyActions() {
  const { can } = useSession()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const seed = useAction(governanceSeedDefaults)
  if (!can('governance:admin')) return null
  const open = (policyId: string) =>
    void navigate({ to: '/policies/$policyId', params: { policyId }, search: {} })
  return (
    <>
      <Button busy={seed.isPending} onClick={() => seed.mutate([{}])}>
        Create defaults
      </Button>
      <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
        New policy
      </Button>
      <span role="status">
        {seed.data && (seed.data.seeded === 0 ? 'All exist' : `${seed.data.seeded} created`)}
      </span>
      {seed.error && <ErrorState error={seed.error} />}
      <Dialog title="New policy" open={creating} onClose={() => setCreating(false)}>
        <PolicyForm onDone={open} />
      </Dialog>
    </>
  )
}

const OWN = 'custom.'

function TryRequest() {
  const { data, error } = useCall(governancePolicyTypes, [])
  if (error) return <ErrorState error={error} />
  return data ? <RequestForm keys={data.operations} /> : <LoadingState />
}

/** The context of an evaluation: the values that are given, and further ones as JSON. */
function contextOf(names: readonly string[], values: ContextValues, more: string): object {
  const given = names.flatMap((name) => {
    const text = values[name] ?? ''
    return text === '' ? [] : [[name, readValue(name, text)]]
  })
  let further: unknown = {}
  try {
    further = more.trim() === '' ? {} : JSON.parse(more)
  } catch {
    throw new Error('“More of the request” is not JSON')
  }
  return { ...Object.fromEntries(given), ...(further as object) }
}

type ContextValues = Readonly<Record<string, string>>

/** Lists and numbers are written as JSON; everything else is text. */
function readValue(name: string, text: string): unknown {
  if (name === 'ref' || name === 'tokens') return Number(text)
  return name === 'sources' || name === 'members' ? text.split(/[\n,]\s*/) : text
}

function RequestForm({ keys }: { readonly keys: Readonly<Record<string, readonly string[]>> }) {
  const [operation, setOperation] = useState('tool_execution')
  const [own, setOwn] = useState('')
  const [values, setValues] = useState<ContextValues>({})
  const [more, setMore] = useState('')
  const [dry, setDry] = useState(true)
  const [failure, setFailure] = useState<unknown>(null)
  const evaluate = useAction(governanceEvaluate)
  const names = keys[operation] ?? []
  const submit = async () => {
    setFailure(null)
    try {
      const context = { ...contextOf(names, values, more) }
      const named = operation === OWN ? `${OWN}${own}` : operation
      await evaluate.mutateAsync([{ operation: named, context, dry_run: dry }])
    } catch (caught) {
      setFailure(caught)
    }
  }
  return (
    <div className={css['try']}>
      <Form onSubmit={submit} label="Request to try">
        <SelectField
          label="Operation"
          value={operation}
          onChange={setOperation}
          options={[
            ...Object.keys(keys).map((name) => [name, name] as const),
            [OWN, 'one of your own'],
          ]}
        />
        {operation === OWN && (
          <TextField label="Its name after custom." required value={own} onChange={setOwn} />
        )}
        <ContextFields names={names} values={values} onChange={setValues} />
        <TextArea
          label="More of the request"
          hint='JSON, for example {"tokens": 9000}'
          rows={2}
          spellCheck={false}
          value={more}
          onChange={setMore}
        />
        <CheckField
          label="Dry run: nothing is recorded or counted"
          checked={dry}
          onChange={setDry}
        />
        <Button type="submit" kind="primary" busy={evaluate.isPending}>
          Evaluate
        </Button>
      </Form>
      <div role="status">
        {failure !== null && <ErrorState error={failure} />}
        {failure === null && evaluate.data && <EvaluationView evaluation={evaluate.data} />}
      </div>
    </div>
  )
}

/** One field for each key that policies read for the operation. */
const ContextFields = ({
  names,
  values,
  onChange,
}: {
  readonly names: readonly string[]
  readonly values: ContextValues
  readonly onChange: (values: ContextValues) => void
}) =>
  names.map((name) => (
    <TextField
      key={name}
      label={name}
      value={values[name] ?? ''}
      onChange={(text) => onChange({ ...values, [name]: text })}
    />
  ))

const VERDICTS = {
  allowed: ['good', 'It may run'],
  denied: ['bad', 'It is refused'],
  escalated: ['warn', 'It waits for an approval'],
} as const

function EvaluationView({ evaluation }: { readonly evaluation: GovernanceEvaluateReply }) {
  const [tone, words] = VERDICTS[evaluation.verdict]
  return (
    <>
      <p className={css['verdict']}>
        <Pill tone={tone}>{evaluation.verdict}</Pill> {words}
        {evaluation.dry_run ? ' (dry run)' : ' (recorded)'}
      </p>
      {evaluation.evaluations.length === 0 && <p>No policy is enabled.</p>}
      <ul className={css['results']}>
        {evaluation.evaluations.map((one) => (
          <li key={one.policy_id} data-applies={one.applicable}>
            <ResultPill result={one.result} />
            <span>
              {one.policy_name}
              <small>{one.applicable ? one.detail : 'does not concern this request'}</small>
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
