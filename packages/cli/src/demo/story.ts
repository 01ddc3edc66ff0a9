// The chapters of the demo: each calls the service and prints what happened.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Custos } from '@custos/client'
import type { DecisionsLogBody, MemoryWriteBatchBody } from '@custos/client/types'
import { readKeyList, readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { CommandError } from '../command.ts'

const BUDGET_TOKENS = 120
const LINE_CHARACTERS = 74

export interface StoryContext {
  readonly api: ReturnType<typeof openStoreApi>
  /** The directory in which certificates, proofs and keys are saved. */
  readonly evidence_dir: string
  /** The data directory of the service; null if it is not on this machine. */
  readonly data_dir: string | null
  say(line: string): void
}

/** Writes the conversation; returns the ref of each text. */
export async function writeConversation({ api, say }: StoryContext): Promise<Map<string, number>> {
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
  say(`1. Remember: ${refs.size} turns of ${evenings} evenings, ${tokens} tokens in total.`)
  return refs
}

export async function retrieveWithinBudget({ api, say }: StoryContext): Promise<void> {
  say(`2. Retrieve within ${BUDGET_TOKENS} tokens: “${TO_ERASE.question}”`)
  const found = await api.retrieve(TO_ERASE.question, { budget_tokens: BUDGET_TOKENS })
  for (const memory of found.memories.slice(0, 3)) say(describe(memory))
  const { memories, tokens_used } = found
  say(`   ${memories.length} memories, ${tokens_used} of ${BUDGET_TOKENS} tokens used, never more.`)
}

function describe({ score, token_count, content }: RankedMemory): string {
  const [points, tokens] = [score.toFixed(2).padStart(5), String(token_count).padStart(2)]
  return `   ${points}  ${tokens} tokens  ${shorten(content)}`
}

const shorten = (text: string): string =>
  text.length <= LINE_CHARACTERS ? text : `${text.slice(0, LINE_CHARACTERS - 1)}…`

export async function logDecision({ api, say }: StoryContext): Promise<string> {
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
  say(`3. Decide: query, retrieved memories and answer are logged as ${decision_id}.`)
  return decision_id
}

export async function supersedeMemory(
  { api, say }: StoryContext,
  refs: ReadonlyMap<string, number>,
) {
  const [old, old_ref] = findTurn(refs, CORRECTION.replaces)
  const before = await api.retrieve(CORRECTION.question, { budget_tokens: BUDGET_TOKENS })
  await api.supersede(old_ref, CORRECTION.text)
  const after = await api.retrieve(CORRECTION.question, { budget_tokens: BUDGET_TOKENS })
  say('4. Correct: Nadia says the van comes a day earlier. The new version replaces the old one:')
  say(`   before  ${shorten(before.memories.find(({ ref }) => ref === old_ref)?.content ?? old)}`)
  const fresh = after.memories.find(({ content }) => content === CORRECTION.text)
  say(`   now     ${shorten(fresh?.content ?? 'not found')}`)
  if (after.memories.some(({ ref }) => ref === old_ref))
    throw new CommandError('a superseded memory was retrieved')
  say('   The old version stays in the history and is no longer retrieved.')
}

export async function eraseMemory(
  stage: StoryContext,
  refs: ReadonlyMap<string, number>,
  decision_id: string,
): Promise<Certificate> {
  const { api, say } = stage
  const [, ref] = findTurn(refs, TO_ERASE.holds)
  say('5. Erase: Elias wants his name and number erased.')
  const certificate = await api.erase(ref)
  const { outcome, scrubbed_decision_ids, verification } = certificate
  const results = Map.groupBy(verification.paths, ({ result }) => result.replaceAll('_', ' '))
  const seen = [...results].map(([result, paths]) => `${paths.length} ${result}`).join(', ')
  say(`   Certificate ${certificate.certificate_id}: ${outcome}; its key is destroyed.`)
  say(`   ${verification.paths.length} read paths were checked afterwards: ${seen}.`)
  say(`   ${scrubbed_decision_ids.length} decision had used it; it was redacted and now reads:`)
  say(`   ${shorten((await api.decision(decision_id)).output)}`)
  await checkErased(stage)
  return certificate
}

async function checkErased({ api, data_dir, say }: StoryContext): Promise<void> {
  const found = await api.retrieve(TO_ERASE.question, { budget_tokens: 2_000 })
  if (found.memories.some(({ content }) => content.includes(TO_ERASE.words[0])))
    throw new CommandError('an erased memory was retrieved')
  say(`   The same question returns ${found.memories.length} memories; none contains his number.`)
  if (data_dir === null)
    return say('   The files of that service are on another machine and were not searched.')
  const { files, hits } = searchFiles(data_dir, TO_ERASE.words)
  if (hits.length > 0) throw new CommandError(`erased text is in ${hits.join(', ')}`)
  say(`   Searched all ${files} files of the service: his name and number are in none.`)
}

function findTurn(refs: ReadonlyMap<string, number>, words: string): [string, number] {
  const turn = [...refs].find(([text]) => text.includes(words))
  if (!turn) throw new CommandError('the conversation lacks a turn that the demo needs')
  return turn
}

export async function proveAndVerify(
  { api, evidence_dir, say }: StoryContext,
  certificate: Certificate,
  decision_id: string,
): Promise<void> {
  const epoch = await api.roll()
  say(`6. Prove: checkpoint ${epoch.epoch_number} signs ${epoch.tree_size} log entries, root`)
  say(`   ${epoch.root_hash}`)
  const proof = await api.proof(epoch.epoch_number, certificate.log_seq ?? -1)
  const steps = proof.audit_path?.length
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
  files.push(['proof.tlog-proof', proof.tlog_proof ?? ''])
  for (const [name, text] of files) writeFileSync(join(evidence_dir, name), text)
  await verifyOffline(new Map(files), proof.breadcrumb, say)
}

async function verifyOffline(
  files: ReadonlyMap<string, string>,
  entry: unknown,
  say: (line: string) => void,
): Promise<void> {
  say('7. Verify offline, without the service, as custos verify does:')
  const keys = readKeyList(files.get('keys.json') ?? '')
  for (const [name, text] of files) {
    if (name === 'keys.json') continue
    for (const document of readSavedDocuments(text)) {
      const { valid, checks, reason } = await verifySavedDocument(document, { keys, entry })
      if (!valid) throw new CommandError(`${name} does not verify: ${reason}`)
      say(`   valid  ${name.padEnd(16)}  ${checks.map((check) => check.name).join(', ')}`)
    }
  }
  const forged = (files.get('certificate.json') ?? '').replace('"erased"', '"nothing_found"')
  for (const document of readSavedDocuments(forged)) {
    const { valid } = await verifySavedDocument(document, { keys, entry })
    say(`   ${valid ? 'VALID' : 'not valid, as expected'}: the certificate with another outcome`)
  }
}

/** Finds the files that contain any of the words in UTF-8 or UTF-16, and counts the files read. */
export function searchFiles(
  dir: string,
  words: readonly string[],
): { files: number; hits: string[] } {
  const needles = words.flatMap((word) => [Buffer.from(word), Buffer.from(word, 'utf16le')])
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
  const paths = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name))
  const hits = paths.filter((path) => {
    const bytes = readFileSync(path)
    return needles.some((needle) => bytes.includes(needle))
  })
  return { files: paths.length, hits }
}

type RankedMemory = Awaited<ReturnType<StoryContext['api']['retrieve']>>['memories'][number]
type Certificate = Awaited<ReturnType<StoryContext['api']['erase']>>

/** Calls the operations of one store. */
export function openStoreApi(custos: Custos, store_id: string) {
  const store = custos.store(store_id)
  return {
    writeBatch: (items: MemoryWriteBatchBody['items']) => store.writeMany(items),
    stats: () => store.stats(),
    retrieve: (query: string, options: { budget_tokens: number }) =>
      store.retrieve({ query, options }),
    supersede: (old_ref: number, content: string) => store.supersede({ old_ref, content }),
    logDecision: (record: Omit<DecisionsLogBody, 'store_id'>) =>
      custos.decisions.log({ store_id, ...record }),
    decision: (id: string) => custos.decisions.get(id),
    erase: (fact_ref: number) => custos.erasure.issue({ fact_ref, requested_by: 'data_subject' }),
    roll: () => custos.gcrumbs.roll(),
    proof: (epoch: number, seq: number) => custos.gcrumbs.proof(epoch, { seq }),
    keys: () => custos.gcrumbs.publicKey(),
  }
}

interface Session {
  readonly session_id: string
  readonly turns: readonly { readonly speaker: 'Nadia' | 'assistant'; readonly text: string }[]
}

const session = (session_id: string, ...lines: readonly string[]): Session => ({
  session_id,
  turns: lines.map((text, i) => ({ speaker: i % 2 === 0 ? 'Nadia' : 'assistant', text })),
})

const CONVERSATION: readonly Session[] = [
  session(
    'evening-1',
    'We are moving from Leipzig to Porto in the spring, and I need help to keep track of it all.',
    'Gladly. When do you have to be out of the flat in Leipzig?',
    'The lease ends on 31 March. The landlord wants the keys back by noon that day.',
    'Noted: keys by noon on 31 March. Who does the move itself?',
    'Castro Mudanças, a company from Porto. They come with the big van on 27 March.',
    'Then four days remain for cleaning. What must not go into the van?',
    'The piano. It is my grandmother’s upright and needs a piano mover and a tuner afterwards.',
    'I will remember that the upright piano travels separately.',
    'Our budget for everything is 6,500 euros, and the van alone is 3,900.',
    'That leaves 2,600 euros for the piano, the flights and the first weeks.',
  ),
  session(
    'evening-2',
    'My brother Elias Brandt can store the piano. His number is +49 341 5550142.',
    'Shall I put him down as the contact for the piano?',
    'Yes. He has a bad back since his operation, so two people must come to lift it.',
    'Two people for the piano, then. Have you found a school for Mila?',
    'Mila starts at the school in Rua do Heroísmo on 14 April, in the second class.',
    'And the cat?',
    'Biscuit flies with me in the cabin, TAP allows 8 kilograms with the carrier.',
    'Does Biscuit have a passport and a rabies vaccination older than 21 days?',
    'Vaccinated on 2 February, the passport is with Dr. Okafor, our vet.',
    'Then Biscuit may fly from 23 February on.',
  ),
  session(
    'evening-3',
    'The flight is booked: 29 March, 10:40 from Berlin, two seats and the cat.',
    'That is before the keys are due. Who returns them on the 31st?',
    'My neighbour Frau Sommer hands the keys over, she has the spare set.',
    'Good. Is there anything you cannot eat that I should tell the caterer of the farewell?',
    'Peanuts: I am allergic. And Mila eats no fish.',
    'Peanuts and fish are out. How many guests?',
    'Eighteen, on 22 March at the allotment, from three in the afternoon.',
    'Eighteen guests on 22 March at three.',
    'I would like coffee rather than tea for everyone, and a vegetarian option.',
    'Coffee and a vegetarian option. I will ask the caterer for an offer.',
  ),
]

/** The correction: a part of the turn it replaces, and the new text. */
const CORRECTION = {
  replaces: 'They come with the big van on 27 March',
  text: 'Castro Mudanças come with the big van on 26 March, a day earlier than planned.',
  question: 'On which day does the moving company come with the van?',
} as const

/** The erasure: a part of the turn to erase, and texts that must not be found afterwards. */
const TO_ERASE = {
  holds: 'His number is +49 341 5550142',
  words: ['+49 341 5550142', '5550142', 'Elias Brandt'],
  question: 'Whom do I call about the piano, and at which number?',
} as const
