// Reputation: how decisions of agents turned out, as scores with their bands; and one agent: what
// its score is made from, drawn as a posterior, and its attestation.

import {
  cgrAttest,
  cgrAttestations,
  cgrChangeSettings,
  cgrScore,
  cgrScores,
  cgrSettings,
} from '@custos/client/operations'
import type { Attestation, CgrScoreReply, Score } from '@custos/client/types'
import { BadgeCheck } from 'lucide-react'
import { useSession } from '../../api/session.tsx'
import { useUrlChange, useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Facts, formatNumber, Pill } from '../../parts/display.tsx'
import { CheckField, Form, TextField } from '../../parts/form.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
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

const DIMENSION = 'receivables'

const TIER_TONES = {
  gold: 'good',
  silver: 'good',
  bronze: 'warn',
  unproven: 'plain',
} as const

/** The dimension in the address. */
const useDimension = (): string => useUrlState('dimension')[0] || DIMENSION

function OneAgent({ handle }: { readonly handle: string }) {
  const dimension = useDimension()
  const [key] = useUrlState('key')
  const subject = key === '' ? {} : { subject_key: key }
  const { data, error } = useCall(cgrScore, [handle, { dimension, ...subject }])
  return (
    <Section title={handle} about={data?.tiergate.rationale}>
      {error && <ErrorState error={error} />}
      {data && <AgentBody score={data} />}
    </Section>
  )
}

function AgentBody({ score }: { readonly score: CgrScoreReply }) {
  const { post_alpha: alpha, post_beta: beta, tiergate } = score
  return (
    <div className={css['agent']}>
      <Posterior alpha={alpha} beta={beta} />
      <Facts
        of={[
          [
            'Band',
            <Pill key="t" tone={TIER_TONES[tiergate.tier]}>
              {tiergate.tier}
            </Pill>,
          ],
          ['Score', score.cgr_score.toFixed(3)],
          ['Lower bound', score.cgr_lower.toFixed(3)],
          ['Evidence for it', (alpha - 1).toFixed(2)],
          ['Evidence against it', (beta - 1).toFixed(2)],
          ['Decisions with an outcome', formatNumber(score.n_resolved)],
          ['Decisions that wait', formatNumber(score.n_pending)],
          ['Of these disputed, late or written off', formatNumber(score.n_unscored)],
          [
            'Key',
            score.subject_key ? <Id key="k" value={score.subject_key} /> : 'known by its name only',
          ],
          ['Other agents of this name', score.same_handle > 0 && score.same_handle],
          ['As of', <Time key="a" value={score.as_of} />],
        ]}
      />
      <Attest score={score} />
    </div>
  )
}

const POINTS = 100

/** Plots the posterior density of the true share of good outcomes. */
function Posterior({ alpha, beta }: { readonly alpha: number; readonly beta: number }) {
  const logs = Array.from({ length: POINTS - 1 }, (_, i) => {
    const x = (i + 1) / POINTS
    return (alpha - 1) * Math.log(x) + (beta - 1) * Math.log(1 - x)
  })
  const most = Math.max(...logs)
  const line = logs.map((log, i) => `${i + 1},${40 - Math.exp(log - most) * 36}`).join(' ')
  return (
    <figure className={css['posterior']}>
      <svg viewBox="0 0 100 41" preserveAspectRatio="none" aria-hidden="true">
        <polygon points={`1,40 ${line} 99,40`} />
        <line x1="0" y1="40" x2="100" y2="40" />
      </svg>
      <figcaption>
        <span>0</span>
        <span>Where the share of good outcomes probably is</span>
        <span>1</span>
      </figcaption>
    </figure>
  )
}

function Attest({ score }: { readonly score: CgrScoreReply }) {
  const { can } = useSession()
  const attest = useAction(cgrAttest)
  if (!can('cgr:write')) return null
  const { agent_handle, subject_key, dimension } = score
  return (
    <div className={css['attest']}>
      <Button
        icon={BadgeCheck}
        busy={attest.isPending}
        onClick={() => attest.mutate([{ agent_handle, subject_key, dimension }])}
      >
        Attest the score
      </Button>
      {attest.error && <ErrorState error={attest.error} />}
      {attest.data && (
        <>
          <VerifyHere value={attest.data} />
          <CodeBlock label="Attestation" text={JSON.stringify(attest.data, null, 2)} />
        </>
      )}
    </div>
  )
}
