// One agent: the evidence for its score with a plot of the posterior, and its attestation.

import { cgrAttest, cgrScore } from '@custos/client/operations'
import type { CgrScoreReply } from '@custos/client/types'
import { BadgeCheck } from 'lucide-react'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Facts, formatNumber, Pill } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { TIER_TONES, useDimension } from './bands.ts'
import css from './reputation.module.css'

export function OneAgent({ handle }: { readonly handle: string }) {
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
