// A tenant as it looks after some weeks: for pictures of the console.

import type { LocalService } from '../../../packages/cli/src/testing/serve-locally.ts'

type JsonAnswer = Record<string, never>

/** What was made, for the addresses of its pages. */
export interface SampleTenant {
  readonly run_id: string
  readonly agent_id: string
  readonly report_id: string
  readonly artifact_id: string
  readonly webhook_id: string
  readonly certificate_id: string
  readonly request_id: string
  readonly decision_id: string
  readonly policy_id: string
  /** Of what waits for a person. */
  readonly approval_id: string
}

const MEMORIES = [
  'Ana Sousa prefers the window seat on the morning ferry',
  'Ana Sousa pays her invoices by bank transfer, thirty days',
  'Ben Okafor asked for the winter timetable in Portuguese',
  'The harbour office closes at six on Fridays',
  'Ana Sousa reported a lost umbrella on 3 November',
  'Refunds above 200 euros need a second person',
  'The ferry to Barreiro runs every twenty minutes before nine',
  'Elsa Lund has a yearly pass, number ending 4471',
  'Group bookings of ten and more get eight per cent off',
  'Ben Okafor moved to Setúbal in October',
  'Dogs travel free on the upper deck',
  'Complaints are answered within two working days',
]

const QUESTIONS = [
  ['Where does Ana Sousa like to sit?', 'By the window, on the morning ferry.'],
  ['When does the harbour office close on Friday?', 'At six.'],
  ['May this refund of 240 euros go out?', 'Only after a second person has agreed.'],
  ['Which language does Ben Okafor want?', 'Portuguese.'],
  ['Do dogs pay?', 'No, they travel free on the upper deck.'],
] as const

const REASONS = [
  'The amount is within the order',
  'The order was confirmed by the buyer',
  'Weight and price agree with the bill of lading',
  'The same vendor billed this twice before',
  'Fuel surcharge as agreed in March',
  'The pilot signed for the berth',
  'Late delivery, reduced by ten per cent',
] as const

const AGENTS = ['invoices@harbour', 'refunds@harbour', 'claims@harbour'] as const

export async function makeSampleTenant({ call }: LocalService): Promise<SampleTenant> {
  const post = async (path: string, body: object = {}) =>
    (await call('POST', path, body)) as unknown as JsonAnswer
  for (const content of MEMORIES) await post('/v1/stores/default/write', { content })
  await post('/v1/stores', { store_id: 'letters', name: 'Letters of customers' })
  await post('/v1/governance/seed-defaults', {})
  let decision_id = ''
  for (const [i, [query, output]] of QUESTIONS.entries()) {
    const logged = await post('/v1/decisions/log', {
      store_id: 'default',
      model_id: i % 2 === 0 ? 'support-large' : 'support-small',
      query,
      output,
      retrieved_refs: [i + 1],
      retrieved_contents: [MEMORIES[i + 1] ?? ''],
      retrieved_scores: [0.9],
      token_count: 40,
      latency_ms: 120,
    })
    decision_id = String(logged['decision_id'])
  }
  await invite(post)
  await judge(call)
  const made = await register(post)
  await post('/v1/gcrumbs/roll')
  const certificate = await post('/v1/erasure/issue', { fact_ref: 5 })
  const { webhook_id } = await post('/v1/webhooks', {
    url: 'http://127.0.0.1:9/custos',
    events: ['memory.erased', 'approval.requested'],
    description: 'Tells the service desk',
  })
  const report = await post('/v1/reports/generate', { framework: 'gdpr', title: 'Third quarter' })
  const search = { find: { text: 'Ben Okafor' } }
  const { digest } = await post('/v1/erasure/subject', { ...search, preview: true })
  const request = await post('/v1/erasure/subject', { ...search, expect_digest: digest })
  const ran = await runAgent(post)
  await post('/v1/gcrumbs/roll')
  const waiting = (await call('GET', '/v1/hitl/requests')) as unknown as {
    readonly requests: readonly { readonly request_id: string }[]
  }
  return {
    ...made,
    ...ran,
    decision_id,
    approval_id: waiting.requests[0]?.request_id ?? '',
    webhook_id: String(webhook_id),
    report_id: String(report['report_id']),
    certificate_id: String(certificate['certificate_id']),
    request_id: String(request['request_id']),
  }
}

async function invite(post: Post): Promise<void> {
  const people = [
    ['Ana Sousa', 'owner'],
    ['Rui Costa', 'auditor'],
    ['Elsa Lund', 'operator_of_stores'],
  ] as const
  const invitations: string[] = []
  for (const [name, role] of people) {
    const email = `${name.toLowerCase().replace(' ', '.')}@harbour.example`
    const made = await post('/v1/cloud/tenants/local/users', { email, name, roles: [role] })
    invitations.push(String(made['invitation']))
  }
  await post('/v1/portal/invitation', { invitation: invitations[0] })
  await post('/v1/portal/sso/connections', {
    name: 'Harbour',
    issuer: 'https://login.harbour.example',
    client_id: 'custos',
    client_secret: 'secret-of-the-sample',
    default_role: 'viewer',
    create_users: true,
  })
}

async function judge(call: LocalService['call']): Promise<void> {
  await call('PUT', '/v1/cgr/settings', { compare_credentials: false })
  for (let i = 0; i < 60; i += 1) {
    const agent_handle = AGENTS[i % 3] ?? AGENTS[0]
    const invoice_ref = `INV-${1_000 + i}`
    await call('POST', '/v1/governed/decisions', {
      decision: 'certify',
      reason: `${REASONS[i % REASONS.length]}, invoice ${i}`,
      invoice_id: invoice_ref,
      agent_handle,
    })
    const bad = i % 3 === 2 ? i % 2 === 0 : i % 11 === 0
    if (i % 7 !== 6)
      await call('POST', '/v1/governed/outcomes', {
        invoice_ref,
        outcome: bad ? 'default' : 'paid',
      })
  }
}

type Post = (path: string, body?: object) => Promise<JsonAnswer>

async function register(post: Post) {
  const layers = ['a1', 'b2', 'c3'].map((part) => ({ digest: part.repeat(32) }))
  const artifact = { artifact_ref: 'adapters/support', base_model_ref: 'models/base-7b', layers }
  const { artifact_id } = await post('/v1/artifacts/register', { ...artifact, kind: 'lora' })
  await post('/v1/provenance/corpora', {
    name: 'Letters 2025',
    sources: [
      { id: 'letters/2025', license: 'CC-BY-4.0' },
      { id: 'calls/2025', lawful_basis: 'contract' },
    ],
    attestations: { representativeness: 'all lines', bias_examination: 'by hand, 2026-03' },
  })
  await post('/v1/compositions', {
    composition_kind: 'stack',
    target_ref: 'stacks/support',
    members: [
      { ref_id: 'models/translate', license: 'MIT', certified: true },
      { ref_id: 'models/base-7b', license: 'Apache-2.0', certified: true },
    ],
    authority: { human_principal: 'ana', trust_tier: 'verified' },
  })
  const { policy_id } = await post('/v1/governance/policies', {
    name: 'Adapters for release need a person',
    policy_type: 'hitl_required',
    config: { operations: ['artifacts.register'] },
  })
  await post('/v1/artifacts/register', { ...artifact, artifact_ref: 'adapters/claims' })
  return {
    artifact_id: String(artifact_id),
    policy_id: String(policy_id),
  }
}

async function runAgent(post: Post) {
  const model = { provider: 'openai', model_id: 'support-large', api_key: 'sk-sample' }
  await post('/v1/llm/providers', {
    ...model,
    price_in_micro: 2_500_000,
    price_out_micro: 10_000_000,
  })
  await post('/v1/llm/tools/seed-builtins')
  const { agent_id } = await post('/v1/orchestrator/agents', {
    name: 'desk-researcher',
    description: 'Answers the service desk',
    system_prompt: 'Answer from memory only. Say so where it does not know.',
    role: 'researcher',
    model_id: 'support-large',
    memory_stores: ['default'],
  })
  const runs = '/v1/orchestrator/runs'
  const { run_id } = await post(runs, { agent_id, budget: { tokens: 20_000 } })
  const steps = `${runs}/${run_id}/steps`
  for (const [input_text, output] of QUESTIONS.slice(0, 2)) {
    const { step_id } = await post(steps, { input_text, max_tokens: 2_000 })
    const used = { tokens_in: 820, tokens_out: 34 }
    await post(`${steps}/${step_id}/complete`, { output, ...used })
  }
  await post('/v1/governance/policies', {
    name: 'Mail is read by a person',
    policy_type: 'hitl_required',
    config: { operations: ['tool_execution'] },
  })
  const { step_id } = await post(steps, { input_text: 'Write to Ben about the timetable' })
  const mail = { to: 'ben', subject: 'Winter timetable' }
  await post(`${steps}/${step_id}/calls`, { tool: 'send_mail', args: mail })
  return { run_id: String(run_id), agent_id: String(agent_id) }
}
