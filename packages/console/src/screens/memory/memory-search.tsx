// A retrieval: its results within a budget, the reasons for their order, and what was omitted.

import { memoryRetrieve } from '@custos/client/operations'
import type { MemoryRetrieveReply, RankedMemory } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Search, X } from 'lucide-react'
import { useState } from 'react'
import { useUrlChange, useUrlSearch } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { counted, Facts, inWords, Meter } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { RequestMenu } from '../../parts/request-menu.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import css from './memory.module.css'

/** The range of the slider, as powers of two of the budget. */
const BUDGET_STEPS = [4, 15] as const
const BUDGET_DEFAULT = 1024

const budgetOf = (text: string | undefined): number => Number(text) || BUDGET_DEFAULT

export function SearchForm() {
  const search = useUrlSearch()
  const change = useUrlChange()
  const [query, setQuery] = useState(search['q'] ?? '')
  const budget = budgetOf(search['budget'])
  const [min, max] = BUDGET_STEPS
  return (
    <div className={css['search']}>
      <Form
        inline
        label="Search"
        onSubmit={() => change({ q: query.trim(), budget: String(budget), cursor: '' })}
      >
        <div className={css['query']}>
          <TextField
            label="What would an agent be given for this question?"
            type="search"
            maxLength={2_000}
            value={query}
            onChange={setQuery}
          />
        </div>
        <label className={css['budget']}>
          <span>Budget {budget} tokens</span>
          <input
            type="range"
            min={min}
            max={max}
            step={1}
            value={Math.round(Math.log2(budget))}
            aria-valuetext={`${budget} tokens`}
            onChange={({ target }) => change({ budget: String(2 ** Number(target.value)) }, true)}
          />
        </label>
        <Button type="submit" kind="primary" icon={Search}>
          Search
        </Button>
        {search['q'] && (
          <Button
            icon={X}
            onClick={() => {
              setQuery('')
              change({ q: '' })
            }}
          >
            Clear
          </Button>
        )}
      </Form>
    </div>
  )
}

export function MemorySearch({ storeId }: { readonly storeId: string }) {
  const search = useUrlSearch()
  const body = {
    query: search['q'] ?? '',
    budget_tokens: budgetOf(search['budget']),
    explain: true,
  }
  const { data, error, request } = useCall(memoryRetrieve, [storeId, body], { keep: true })
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  return (
    <Section
      title={`${counted(data.memories.length, 'memory', 'memories')} found`}
      about={`Ranking: ${data.ranking}. As of log position ${data.log_seq}.`}
      actions={<RequestMenu request={request} />}
    >
      <div className={css['summary']}>
        <Meter label="Tokens used" value={data.tokens_used} max={data.budget_tokens} />
        <QueryReading reply={data} />
      </div>
      {data.memories.length === 0 ? (
        <EmptyState title="Nothing is returned">
          <p>No memory has a word of the question or one of similar meaning.</p>
        </EmptyState>
      ) : (
        <ol className={css['found']} aria-label="Found memories">
          {data.memories.map((memory) => (
            <FoundMemory key={memory.ref} storeId={storeId} memory={memory} />
          ))}
        </ol>
      )}
      <LeftOut reply={data} storeId={storeId} />
    </Section>
  )
}

function QueryReading({ reply }: { readonly reply: MemoryRetrieveReply }) {
  const { explain, duplicates } = reply
  if (!explain) return null
  const { terms, further_terms: further } = explain.query
  const { visible, matched, ranked } = explain.candidates
  return (
    <Facts
      of={[
        [
          'Read as',
          terms.length > 0 &&
            `${terms.map(({ term }) => term).join(', ')}` +
              `${further > 0 ? ` and ${further} more` : ''}`,
        ],
        ['Visible, matching, ranked', `${visible} · ${matched} · ${ranked}`],
        ['Left out as duplicates', duplicates > 0 && duplicates],
      ]}
    />
  )
}

function FoundMemory(props: {
  readonly storeId: string
  readonly memory: MemoryRetrieveReply['memories'][number]
}) {
  const { storeId, memory } = props
  const full = 'score_parts' in memory ? memory : null
  return (
    <li className={css['hit']}>
      <div className={css['hitHead']}>
        <Link
          to="/stores/$storeId/memories/$ref"
          params={{ storeId, ref: String(memory.ref) }}
          search={{}}
        >
          Memory {memory.ref}
        </Link>
        <span>{memory.token_count} tokens</span>
        <span>score {memory.score.toFixed(2)}</span>
        {full && <span>confidence {full.confidence.toFixed(2)}</span>}
      </div>
      <p>{memory.content}</p>
      {full && <ScoreParts memory={full} />}
    </li>
  )
}

/** The parts of a score as one bar, and the same numbers as words. */
function ScoreParts({ memory }: { readonly memory: RankedMemory }) {
  const parts = Object.entries(memory.score_parts).filter(([, value]) => value !== 0)
  const positive = parts.filter(([, value]) => value > 0)
  const sum = positive.reduce((total, [, value]) => total + value, 0)
  let x = 0
  return (
    <div className={css['parts']}>
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        {positive.map(([name, value]) => {
          const width = (value / sum) * 100
          const from = x
          x += width
          return <rect key={name} data-part={name} x={from} width={width} height="1" />
        })}
      </svg>
      <ul>
        {parts.map(([name, value]) => (
          <li key={name} data-part={name}>
            {name} {value > 0 ? '+' : '−'}
            {Math.abs(value).toFixed(2)}
          </li>
        ))}
      </ul>
    </div>
  )
}

function LeftOut({ reply, storeId }: { reply: MemoryRetrieveReply; storeId: string }) {
  const dropped = reply.explain?.dropped ?? []
  if (dropped.length === 0) return null
  return (
    <details className={css['left']}>
      <summary>Left out, and why ({dropped.length})</summary>
      <ul>
        {dropped.map(({ ref, rank, reason, token_count: tokens }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: hidden ones have no other name
          <li key={i}>
            {ref === null ? (
              'A memory'
            ) : (
              <Link
                to="/stores/$storeId/memories/$ref"
                params={{ storeId, ref: String(ref) }}
                search={{}}
              >
                Memory {ref}
              </Link>
            )}
            {rank !== null && `, rank ${rank}`}
            {tokens !== null && `, ${tokens} tokens`}: {inWords(reason)}
          </li>
        ))}
      </ul>
    </details>
  )
}
