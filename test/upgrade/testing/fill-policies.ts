// Policies of every type, what they said, and approvals: one decided, two that wait.

import { APPROVER } from './agent-keys.ts'
import type { Client } from './client.ts'

/** In force: none of them is in the way of what is written afterwards. */
const STANDING = [
  ['rate_limit', { max_requests: 100_000, window_seconds: 60 }],
  ['model_allowlist', { models: ['model-a', 'model-b', 'kapwork-verify-agent-v1'] }],
  ['content_filter', { patterns: ['forbidden word'], check_fields: ['query', 'output'] }],
  ['token_budget', { max_tokens_per_request: 50_000 }],
  ['pii_guard', { entities: ['EMAIL_ADDRESS'], check_fields: ['content'], redact: true }],
  ['world_model_constraint', { require_params: ['amount'], for_actions: ['certify'] }],
  ['tool_deny', { denied_tools: ['shell', 'rm.*'] }],
] as const

export async function fillPolicies(client: Client, store_ids: readonly string[]) {
  const make = async (policy_type: string, config: object, more: object = {}): Promise<string> => {
    const body = { name: `By ${policy_type}`, policy_type, config, ...more }
    return (await client.post('/v1/governance/policies', body)).policy_id
  }
  const ids: Record<string, string> = {}
  for (const [type, config] of STANDING)
    ids[type] = await make(type, config, type === 'pii_guard' ? { action: 'log_only' } : {})
  const allowed_stores = [...store_ids, 'default']
  ids['data_scope'] = await make('data_scope', { allowed_stores }, { enabled: false })
  const changed = ids['content_filter']
  await client.ok('PUT', `/v1/governance/policies/${changed}`, { priority: 7 })
  const deleted = await make('tool_deny', { denied_tools: ['nothing'] })
  await client.ok('DELETE', `/v1/governance/policies/${deleted}`)
  const denied = await client.post('/v1/governance/evaluate', {
    operation: 'tool_execution',
    context: { tool_name: 'shell' },
  })
  return { ids, deleted, evaluation_id: String(denied.evaluation_id) }
}

/** Artifacts that wait for a person: one was approved by a signature, two are left waiting. */
export async function fillApprovals(client: Client) {
  const { approver_id } = await client.post('/v1/hitl/approvers', {
    name: 'Ana Prado',
    role: 'release manager',
    public_key: APPROVER.public_key,
  })
  await client.ok('PUT', '/v1/hitl/settings', { expires_after_seconds: 172_800 })
  const { policy_id } = await client.post('/v1/governance/policies', {
    name: 'A person first',
    policy_type: 'hitl_required',
    config: { operations: ['artifact.register'] },
  })
  const register = async (word: string) => {
    const { detail } = await client.refused(202, 'POST', '/v1/artifacts/register', {
      artifact_ref: `adapters/${word}`,
      base_model_ref: 'models/base-7b',
      layers: [{ digest: `sha256:${'e5'.repeat(32)}`, size: 12 }],
      metadata: { note: `the ${word} one` },
    })
    return { artifact_id: String(detail.artifact_id), request_id: String(detail.request_id) }
  }
  const approved = await register('approved')
  await approve(client, approved.request_id, String(approver_id))
  const [waiting, late] = [await register('waiting'), await register('late')]
  return { approver_id: String(approver_id), policy_id: String(policy_id), approved, waiting, late }
}

/** By the signature of the enrolled approver, over the bytes that the request names. */
export async function approve(client: Client, request_id: string, signer_id: string) {
  const { signing_input } = await client.get(`/v1/hitl/requests/${request_id}`)
  const signature = APPROVER.sign(Buffer.from(signing_input.approve, 'base64'))
  const body = { decision: 'approve', signer_id, signature, reason: 'as agreed' }
  return client.post(`/v1/hitl/requests/${request_id}/attest`, body)
}
