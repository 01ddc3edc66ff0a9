// One decision: what was asked and answered, its memories then and today, and its signature.

import { decisionsGet, decisionsRedact, decisionsReplay } from '@custos/client/operations'
import type { Decision, DecisionsReplayReply } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { counted, Facts, formatNumber, Pill } from '../../parts/display.tsx'
import { TextField } from '../../parts/form.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './decisions.module.css'

export function OneDecision() {
  const id = String(useParams({ strict: false })['decisionId'])
  const { data, error, request } = useCall(decisionsGet, [id])
  return (
    <>
      <PageHeader
        title="Decision"
        about={<Id value={id} />}
        actions={data && <RedactButton decision={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <DecisionBody decision={data} />}
    </>
  )
}

function DecisionBody({ decision }: { readonly decision: Decision }) {
  const { query, output, parameters, redactions } = decision
  const replay = useCall(decisionsReplay, [decision.decision_id])
  return (
    <>
      <div className={css['exchange']}>
        <div>
          <h2>Asked</h2>
          <p>{query === '' ? '(no question)' : query}</p>
        </div>
        <div>
          <h2>Answered</h2>
          <p>{output}</p>
        </div>
      </div>
      <Section title="About it">
        <AboutDecision decision={decision} />
      </Section>
      {redactions.length > 0 && (
        <Section title="Redacted since">
          <ul>
            {redactions.map(({ field, count, ref }) => (
              <li key={`${field} ${ref}`}>
                {field}: {counted(count, 'place')}
                {ref !== null && `, because memory ${ref} was erased`}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {replay.error && <ErrorState error={replay.error} />}
      {replay.data && <UsedMemories replay={replay.data} />}
      <Section title="Signature">
        <VerifyHere value={decision} />
      </Section>
      {parameters && (
        <Section title="Parameters of the model">
          <CodeBlock label="Parameters" text={JSON.stringify(parameters, null, 2)} />
        </Section>
      )}
    </>
  )
}

function AboutDecision({ decision }: { readonly decision: Decision }) {
  const { latency_ms: ms, token_count: tokens } = decision
  return (
    <Facts
      of={[
        ['Recorded', <Time key="t" value={decision.timestamp} />],
        ['Model', decision.model_id],
        ['Store', decision.store_id],
        ['Session', decision.session_id],
        ['Latency', ms === null ? null : `${formatNumber(ms)} ms`],
        ['Tokens of the output', tokens],
        ['Log position', decision.log_seq],
        ['Store was read at', `log position ${decision.memory_seq}`],
        ['Signing key', <Id key="i" value={decision.key_id} />],
        ['Record digest', <Id key="d" value={decision.record_digest} />],
      ]}
    />
  )
}

const TONES = {
  live: 'good',
  superseded: 'plain',
  expired: 'warn',
  erased: 'bad',
  unknown: 'plain',
} as const

/** The memories that the model saw, beside their current versions. */
function UsedMemories({ replay }: { readonly replay: DecisionsReplayReply }) {
  const { decision, facts_used: used, memory_state: state } = replay
  return (
    <Section
      title="Replay: memories then and today"
      about={
        `The store held ${counted(state.length, 'memory', 'memories')}` +
        `${replay.memory_state_truncated ? ' or more' : ''} at log position ` +
        `${replay.memory_seq}; the model was given ${used.length}. ` +
        `Erased since: ${replay.facts_since_deleted.length}.`
      }
    >
      {used.length > 0 && (
        <table className={css['replay']} aria-label="Memories then and today">
          <thead>
            <tr>
              <th scope="col">Ref</th>
              <th scope="col">As the model saw it</th>
              <th scope="col">Today</th>
              <th scope="col">Score</th>
            </tr>
          </thead>
          <tbody>
            {used.map((fact, i) => (
              <tr key={fact.ref}>
                <td>
                  <Link
                    to="/stores/$storeId/memories/$ref"
                    params={{ storeId: decision.store_id, ref: String(fact.ref) }}
                    search={{}}
                  >
                    {fact.ref}
                  </Link>
                </td>
                <td>{decision.retrieved_contents[i] ?? '–'}</td>
                <td>
                  <Pill tone={TONES[fact.state]}>{fact.state}</Pill>
                  {fact.content !== null &&
                    fact.content !== decision.retrieved_contents[i] &&
                    ` ${fact.content}`}
                </td>
                <td>{fact.score?.toFixed(2) ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}

function RedactButton({ decision }: { readonly decision: Decision }) {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  const [basis, setBasis] = useState('')
  const redact = useAction(decisionsRedact)
  if (!can('erasure:execute') || decision.redacted) return null
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Redact
      </Button>
      <ConfirmDialog
        title="Redact this decision"
        open={open}
        onClose={() => setOpen(false)}
        verb="Redact"
        typed="redact"
        act={() =>
          redact.mutateAsync([decision.decision_id, { legal_basis: basis === '' ? null : basis }])
        }
      >
        <p>
          Question, answer and contents become unreadable in every copy. The record itself stays,
          and a signed certificate is issued. This cannot be undone.
        </p>
        <TextField
          label="Legal basis"
          hint="Part of the certificate for ever: name no person"
          value={basis}
          onChange={setBasis}
        />
      </ConfirmDialog>
    </>
  )
}
