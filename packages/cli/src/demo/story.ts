// The demo's chapters, each a few lines of text about what has just happened.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../command.ts'
import { readDocuments } from '../verify/documents.ts'
import { judge } from '../verify/judge.ts'
import { parseKeyList } from '../verify/keys.ts'
import type { Api, Certificate, Ranked } from './api.ts'
import { CONVERSATION, CORRECTION, TO_ERASE } from './conversation.ts'
import { searchFiles } from './search-files.ts'

const BUDGET_TOKENS = 120
const LINE_CHARACTERS = 74

export interface Stage {
  readonly api: Api
  /** Where what is proved is saved. */
  readonly evidence_dir: string
  /** The service's own files, where they are at hand. */
  readonly data_dir: string | null
  say(line: string): void
}

/** Returns the ref of each text. */
export async function remember({ api, say }: Stage): Promise<Map<string, number>> {
  const refs = new Map<string, number>()
  for (const { session_id, turns } of CONVERSATION) {
    const items = turns.map(({ speaker, text }) => ({
      content: text,
      options: { metadata: { session_id, speaker } },
    }))
    const written = await api.writeBatch(items)
    for (const [i, { text }] of turns.entries()) refs.set(text, written.refs[i] ?? -1)
  }
  const { tokens } = await api.stats()
  const evenings = CONVERSATION.length
  say(`1. Remember: ${refs.size} turns of ${evenings} evenings, ${tokens} tokens in all.`)
  return refs
}

export async function ask({ api, say }: Stage): Promise<void> {
  say(`2. Retrieve within ${BUDGET_TOKENS} tokens: “${TO_ERASE.question}”`)
  const found = await api.retrieve(TO_ERASE.question, { budget_tokens: BUDGET_TOKENS })
  for (const memory of found.memories.slice(0, 3)) say(describe(memory))
  const { memories, tokens_used } = found
  say(`   ${memories.length} memories, ${tokens_used} of ${BUDGET_TOKENS} tokens used, never more.`)
}

function describe({ score, token_count, content }: Ranked): string {
  const [points, tokens] = [score.toFixed(2).padStart(5), String(token_count).padStart(2)]
  return `   ${points}  ${tokens} tokens  ${shorten(content)}`
}

const shorten = (text: string): string =>
  text.length <= LINE_CHARACTERS ? text : `${text.slice(0, LINE_CHARACTERS - 1)}…`

export async function decide({ api, say }: Stage): Promise<string> {
  const found = await api.retrieve(TO_ERASE.question, { budget_tokens: BUDGET_TOKENS })
  const [best] = found.memories
  const { decision_id } = await api.logDecision({
    session_id: 'evening-4',
    model_id: 'demo-model',
    query: TO_ERASE.question,
    retrieved_refs: found.memories.map(({ ref }) => ref),
    retrieved_contents: found.memories.map(({ content }) => content),
    retrieved_scores: found.memories.map(({ score }) => score),
    output: `You told me: ${best?.content ?? 'nothing'}`,
    token_count: found.tokens_used,
    latency_ms: 1,
    memory_seq: found.log_seq,
  })
  say(`3. Decide: what was asked, retrieved and answered is on record as ${decision_id}.`)
  return decision_id
}

export async function correct({ api, say }: Stage, refs: ReadonlyMap<string, number>) {
  const [old, old_ref] = findTurn(refs, CORRECTION.replaces)
  const before = await api.retrieve(CORRECTION.question, { budget_tokens: BUDGET_TOKENS })
  await api.supersede(old_ref, CORRECTION.text)
  const after = await api.retrieve(CORRECTION.question, { budget_tokens: BUDGET_TOKENS })
  say('4. Correct: Nadia says the van comes a day earlier. The new version takes over:')
  say(`   before  ${shorten(before.memories.find(({ ref }) => ref === old_ref)?.content ?? old)}`)
  const fresh = after.memories.find(({ content }) => content === CORRECTION.text)
  say(`   now     ${shorten(fresh?.content ?? 'not found')}`)
  if (after.memories.some(({ ref }) => ref === old_ref))
    throw new CommandError('a superseded memory was retrieved')
  say('   The old version stays in the history and is no longer retrieved.')
}

export async function erase(
  stage: Stage,
  refs: ReadonlyMap<string, number>,
  decision_id: string,
): Promise<Certificate> {
  const { api, say } = stage
  const [, ref] = findTurn(refs, TO_ERASE.holds)
  say('5. Erase: Elias wants his name and number forgotten.')
  const certificate = await api.erase(ref)
  const { outcome, scrubbed_decision_ids, verification } = certificate
  const results = Map.groupBy(verification.paths, ({ result }) => result.replaceAll('_', ' '))
  const seen = [...results].map(([result, paths]) => `${paths.length} ${result}`).join(', ')
  say(`   Certificate ${certificate.certificate_id}: ${outcome}; its key is destroyed.`)
  say(`   ${verification.paths.length} paths were looked at afterwards: ${seen}.`)
  say(`   ${scrubbed_decision_ids.length} decision had used it; it was scrubbed and now reads:`)
  say(`   ${shorten((await api.decision(decision_id)).output)}`)
  await showGone(stage)
  return certificate
}

async function showGone({ api, data_dir, say }: Stage): Promise<void> {
  const found = await api.retrieve(TO_ERASE.question, { budget_tokens: 2_000 })
  if (found.memories.some(({ content }) => content.includes(TO_ERASE.words[0])))
    throw new CommandError('an erased memory was retrieved')
  say(`   Asked again, ${found.memories.length} memories come back; none holds his number.`)
  if (data_dir === null)
    return say('   The files of that service are elsewhere: they were not searched.')
  const { files, hits } = searchFiles(data_dir, TO_ERASE.words)
  if (hits.length > 0) throw new CommandError(`erased words are in ${hits.join(', ')}`)
  say(`   Searched ${files} files of the service, logs included: his name and number are in none.`)
}

function findTurn(refs: ReadonlyMap<string, number>, words: string): [string, number] {
  const turn = [...refs].find(([text]) => text.includes(words))
  if (!turn) throw new CommandError('the conversation lacks a turn the demo needs')
  return turn
}

export async function prove(
  { api, evidence_dir, say }: Stage,
  certificate: Certificate,
  decision_id: string,
): Promise<void> {
  const epoch = await api.roll()
  say(`6. Prove: epoch ${epoch.epoch_number} signs ${epoch.tree_size} log entries, root`)
  say(`   ${epoch.root_hash}`)
  const proof = await api.proof(epoch.epoch_number, certificate.log_seq)
  const steps = proof.audit_path.length
  say(`   Entry ${certificate.log_seq}, the erasure, is one of them: a proof of ${steps} hashes.`)
  const evidence = {
    'certificate.json': certificate,
    'decision.json': await api.decision(decision_id),
    'epoch.json': epoch,
    'proof.json': proof,
    'entry.json': proof.breadcrumb,
    'keys.json': await api.keys(),
  }
  mkdirSync(evidence_dir, { recursive: true })
  const files = Object.entries(evidence).map(([name, value]): [string, string] => [
    name,
    `${JSON.stringify(value, null, 2)}\n`,
  ])
  files.push(['proof.tlog-proof', proof.tlog_proof])
  for (const [name, text] of files) writeFileSync(join(evidence_dir, name), text)
  await verifyOffline(new Map(files), proof.breadcrumb, say)
}

async function verifyOffline(
  files: ReadonlyMap<string, string>,
  entry: unknown,
  say: (line: string) => void,
): Promise<void> {
  say('7. Verify, offline and without the service, as custos verify does:')
  const keys = parseKeyList(files.get('keys.json') ?? '', 'keys.json')
  for (const [name, text] of files) {
    if (name === 'keys.json') continue
    for (const document of readDocuments(text)) {
      const { valid, checks, reason } = await judge(document, { keys, entry })
      if (!valid) throw new CommandError(`${name} does not verify: ${reason}`)
      say(`   valid  ${name.padEnd(16)}  ${checks.map((check) => check.name).join(', ')}`)
    }
  }
  const forged = (files.get('certificate.json') ?? '').replace('"erased"', '"nothing_found"')
  for (const document of readDocuments(forged)) {
    const { valid } = await judge(document, { keys, entry })
    say(
      `   ${valid ? 'VALID' : 'not valid, as it should be'}: the certificate with another outcome`,
    )
  }
}
