// Reputation: how decisions of agents turned out, as scores with their bands.

import {
  cgrAttestations,
  cgrChangeSettings,
  cgrScores,
  cgrSettings,
} from '@custos/client/operations'
import type { Attestation, Score } from '@custos/client/types'
import { useSession } from '../../api/session.tsx'
import { useUrlChange, useUrlState } from '../../api/url-state.ts'
import { useAction, useCall } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Pill } from '../../parts/display.tsx'
import { CheckField, Form, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { TIER_TONES, useDimension } from './bands.ts'
import { OneAgent } from './one-agent.tsx'
import css from './reputation.module.css'

function useColumns(): readonly Column<Score>[] {
  const change = useUrlChange()
  return [
    {
      id: 'agent',
      header: 'Agent',
      grow: true,
      cell: ({ agent_handle: agent, subject_key: key, proven }) => (
        <>
          <button
            type="button"
            className={css['link']}
            onClick={() => change({ agent, key: key ?? '' })}
          >
            {agent}
          </button>{' '}
          {proven && <Pill tone="accent">proven key</Pill>}
        </>
      ),
    },
    { id: 'band', header: 'Score from 0 to 1', cell: (row) => <Band score={row} /> },
    { id: 'score', header: 'Score', numeric: true, cell: (row) => row.cgr_score.toFixed(3) },
    { id: 'lower', header: 'Lower bound', numeric: true, cell: (row) => row.cgr_lower.toFixed(3) },
    { id: 'resolved', header: 'Resolved', numeric: true, cell: (row) => row.n_resolved },
    { id: 'pending', header: 'Pending', numeric: true, cell: (row) => row.n_pending },
  ]
}

/** The lowest scores of silver and gold. */
const MARKS = [0.65, 0.8]

/** Draws the score and the range from its lower bound. The same numbers are beside it. */
function Band({ score: { cgr_score: score, cgr_lower: lower } }: { readonly score: Score }) {
  return (
    <svg className={css['band']} viewBox="0 0 100 12" aria-hidden="true">
      <rect className={css['track']} y="4" width="100" height="4" />
      {MARKS.map((mark) => (
        <rect key={mark} className={css['mark']} x={mark * 100} width="0.6" height="12" />
      ))}
      <rect
        className={css['range']}
        x={lower * 100}
        y="4"
        width={Math.max(0, score - lower) * 100}
        height="4"
      />
      <rect className={css['mean']} x={score * 100 - 0.8} width="1.6" height="12" />
    </svg>
  )
}

const ABOUT =
  'How the decisions of agents turned out. The band reaches from the lower bound, which the ' +
  'score exceeds with 95 %, to the score; the marks are where silver and gold begin.'

export function Reputation() {
  const dimension = useDimension()
  const [agent] = useUrlState('agent')
  const [, setDimension] = useUrlState('dimension')
  const list = useList(cgrScores, [{ ...usePage(), dimension }], ({ scores }) => scores)
  return (
    <>
      <PageHeader title="Reputation" about={ABOUT} />
      <Section title="Scores">
        <Table
          label="Scores"
          list={list}
          columns={useColumns()}
          rowId={({ agent_handle: handle, subject_key: key }) => key ?? handle}
          filters={
            <Form inline label="Filters" onSubmit={() => undefined}>
              <TextField
                label="Dimension"
                value={dimension}
                onChange={setDimension}
                pattern="[a-z0-9][a-z0-9_.\-]*"
              />
            </Form>
          }
          empty={
            <EmptyState title="No scores in this dimension">
              <p>A governed decision and its outcome make one.</p>
            </EmptyState>
          }
        />
      </Section>
      {agent !== '' && <OneAgent key={agent} handle={agent} />}
      <Section title="Attestations" about="Scores that were signed, to be shown elsewhere.">
        <Attestations />
      </Section>
      <CgrSettingsForm />
    </>
  )
}

const ATTESTATION_COLUMNS: readonly Column<Attestation>[] = [
  { id: 'agent', header: 'Agent', grow: true, cell: ({ agent_handle: agent }) => agent },
  { id: 'tier', header: 'Band', cell: ({ tier }) => <Pill tone={TIER_TONES[tier]}>{tier}</Pill> },
  { id: 'score', header: 'Score', numeric: true, cell: (row) => row.cgr_score.toFixed(3) },
  { id: 'resolved', header: 'Resolved', numeric: true, cell: (row) => row.n_resolved },
  { id: 'dimension', header: 'Dimension', cell: ({ dimension }) => dimension },
  { id: 'as_of', header: 'As of (UTC)', cell: ({ as_of: at }) => <Time value={at} /> },
]

function Attestations() {
  const name = 'attestations_'
  const list = useList(cgrAttestations, [usePage(name)], ({ attestations }) => attestations)
  return (
    <Table
      name={name}
      label="Attestations"
      list={list}
      columns={ATTESTATION_COLUMNS}
      rowId={({ signature }) => signature}
      signed
      empty={<EmptyState title="Nothing was attested" />}
    />
  )
}

const RULES = [
  ['compare_credentials', 'Refuse outcomes and reviews by the credential that made the decision'],
  ['judgments_final', 'A judgment is final once its outcome is known'],
] as const

function CgrSettingsForm() {
  const { can } = useSession()
  const { data, error } = useCall(cgrSettings, [])
  const change = useAction(cgrChangeSettings)
  const may = can('governance:admin')
  return (
    <Section title="Rules" about="They make scores harder to manipulate.">
      {error && <ErrorState error={error} />}
      {change.error && <ErrorState error={change.error} />}
      {data && may && (
        <Form label="Rules" onSubmit={() => undefined}>
          {RULES.map(([name, label]) => (
            <CheckField
              key={name}
              label={label}
              checked={data[name]}
              onChange={(checked) => change.mutate([{ [name]: checked }])}
            />
          ))}
        </Form>
      )}
      {data && !may && (
        <ul>
          {RULES.map(([name, label]) => (
            <li key={name}>
              {label}: {data[name] ? 'yes' : 'no'}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
