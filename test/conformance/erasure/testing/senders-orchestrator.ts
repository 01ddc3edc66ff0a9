// Canaries through agents and runs: their texts are sealed and bound to the memories they quote.

import { answered, marks, refused, type SendParts, twice } from './send-parts.ts'

const PATH = '/v1/orchestrator'

export async function sendRuns(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const store_id = made.stores[0]
  const agent = marks(parts, 'orchestrator.create_agent')
  const { agent_id } = await twice(
    parts,
    { status: 201, path: `${PATH}/agents` },
    {
      body: {
        name: agent.label('body.name'),
        description: agent.label('body.description'),
        model_id: agent.label('body.model_id'),
        system_prompt: agent.text('body.system_prompt'),
        memory_stores: [store_id, agent.label('body.memory_stores[]')],
        fallback_models: [agent.label('body.fallback_models[]')],
        tools: [agent.label('body.tools[]')],
      },
      headers: agent.headers(),
    },
  )
  const open = { name: `open ${agent_id}`, model_id: 'model-a' }
  const plain = await client.ok('POST', `${PATH}/agents`, { body: open })
  await sendChanges(parts, agent.label('body.store_id'))
  const start = marks(parts, 'orchestrator.start_run')
  const run = await twice(
    parts,
    { status: 201, path: `${PATH}/runs` },
    {
      body: { agent_id: plain.agent_id, input_text: start.text('body.input_text') },
      headers: start.headers(),
    },
  )
  const begin = marks(parts, 'orchestrator.begin_step')
  const steps = `${PATH}/runs/${run.run_id}/steps`
  const { step_id } = await twice(
    parts,
    { status: 201, path: steps },
    {
      body: {
        input_text: begin.text('body.input_text'),
        model_id: begin.label('body.model_id'),
        query: begin.text('body.query'),
        store_id,
        budget_tokens: 64,
      },
      headers: begin.headers(),
    },
  )
  const call = marks(parts, 'orchestrator.call_tool')
  const { call_id } = await twice(
    parts,
    { status: 201, path: `${steps}/${step_id}/calls` },
    {
      body: { tool: call.label('body.tool'), args: call.json('body.args') },
      headers: call.headers(),
    },
  )
  const proposal = marks(parts, 'orchestrator.propose')
  await answered(
    parts,
    { status: 201, path: `${PATH}/agents/${plain.agent_id}/propose` },
    {
      body: {
        tool: proposal.label('body.tool'),
        args: proposal.json('body.args'),
        reason: proposal.text('body.reason'),
      },
    },
  )
  const complete = marks(parts, 'orchestrator.complete_step')
  const { step } = await twice(
    parts,
    { status: 200, path: `${steps}/${step_id}/complete` },
    {
      body: {
        output: complete.text('body.output'),
        calls: [{ call_id, result: complete.text('body.calls[].result') }],
        model_version: complete.label('body.model_version'),
        tokens_in: 1,
        tokens_out: 1,
      },
      headers: complete.headers(),
    },
  )
  made.decisions.push(step.decision_id)
  const unknown = { input_text: 'of no store', store_id: begin.label('body.store_id') }
  await refused(parts, steps, { body: unknown })
  const resolve = marks(parts, 'orchestrator.resolve_call')
  const ghost = `${PATH}/runs/${run.run_id}/calls/${'f'.repeat(32)}/resolve`
  const said = { happened: true, result: resolve.text('body.result') }
  await refused(parts, ghost, { body: said })
  const report = marks(parts, 'orchestrator.report_call')
  const unknown_call = `${PATH}/runs/${run.run_id}/calls/${'f'.repeat(32)}/report`
  await refused(parts, unknown_call, {
    body: { result: report.text('body.result') },
    headers: report.headers(),
  })
  await sendProvider(parts)
  await sendWorkflow(parts, plain.agent_id)
  await sendDecisions(parts, steps)
}

/** A workflow, and what runs of it are asked: refused, as no provider answers for the model. */
async function sendWorkflow(parts: SendParts, agent_id: string): Promise<void> {
  const path = `${PATH}/workflows`
  const { label, headers } = marks(parts, 'workflows.create')
  const body = {
    name: label('body.name'),
    description: label('body.description'),
    agent_ids: [agent_id],
  }
  const { workflow_id } = await twice(parts, { status: 201, path }, { body, headers: headers() })
  const run = marks(parts, 'workflows.run')
  await refused(parts, `${path}/${workflow_id}/run`, {
    body: { input_text: run.text('body.input_text') },
    headers: run.headers(),
  })
  const resume = marks(parts, 'workflows.resume')
  const decided = {
    approved: true,
    approver: resume.label('body.approver'),
    feedback: resume.text('body.feedback'),
  }
  await refused(parts, `${path}/${workflow_id}/resume`, { body: decided })
  const step = marks(parts, 'workflows.run_step')
  const asked = { agent_id, input_text: step.text('body.input_text') }
  await refused(parts, `${PATH}/step`, { body: asked, headers: step.headers() })
}

/** Next versions of agents, one with its stores and one with the only one. */
async function sendChanges({ client, canaries }: SendParts, store_id: string): Promise<void> {
  const { label, text } = marks({ canaries }, 'orchestrator.update_agent')
  const create = async (more: object) => {
    const body = { name: `changed ${canaries.places.size}`, model_id: 'model-a', ...more }
    return (await client.ok('POST', `${PATH}/agents`, { body })).agent_id
  }
  await client.ok('PUT', `${PATH}/agents/${await create({})}`, {
    body: {
      name: label('body.name'),
      description: label('body.description'),
      model_id: label('body.model_id'),
      system_prompt: text('body.system_prompt'),
      memory_stores: [label('body.memory_stores[]')],
      fallback_models: [label('body.fallback_models[]')],
      tools: [label('body.tools[]')],
    },
  })
  await create({ store_id })
  const body = { store_id: label('body.store_id') }
  await client.ok('PUT', `${PATH}/agents/${await create({ name: 'of one store' })}`, { body })
}

/** Who answers for a model; its key is nowhere to be read. */
async function sendProvider(parts: SendParts): Promise<void> {
  const { word, label, headers } = marks(parts, 'llm.create_provider')
  const path = '/v1/llm/providers'
  const body = {
    provider: 'openai',
    model_id: label('body.model_id'),
    base_url: `https://models.invalid/${word('body.base_url')}`,
    api_key: word('body.api_key'),
  }
  await twice(parts, { status: 201, path }, { body, headers: headers() })
  const tool = marks(parts, 'llm.create_tool')
  const name = 'canary_tool'
  const defined = {
    name,
    description: tool.text('body.description'),
    input_schema: { type: 'object', description: tool.word('body.input_schema{}') },
    url: `https://tools.invalid/${tool.word('body.url')}`,
    headers: { 'x-token': tool.word('body.headers{}') },
  }
  const made = { body: defined, headers: tool.headers() }
  await twice(parts, { status: 201, path: '/v1/llm/tools' }, made)
  const acting = { name: 'canary_action', description: 'x', tool_type: 'action' }
  const compensation = {
    tool: name,
    map: { id: `args.${tool.word('body.compensation.map{}')}` },
  }
  const action = { ...acting, compensation, action_name: tool.label('body.action_name') }
  await parts.client.ok('POST', '/v1/llm/tools', { body: action })
  const seed = { body: {}, headers: marks(parts, 'llm.seed_builtins').headers() }
  await twice(parts, { status: 200, path: '/v1/llm/tools/seed-builtins' }, seed)
}

/** What people say who decide about waiting steps. */
async function sendDecisions(parts: SendParts, steps: string): Promise<void> {
  const { client } = parts
  const config = { operations: ['inference'] }
  const policy = { name: 'a person first', policy_type: 'hitl_required', config }
  const { policy_id } = await client.ok('POST', '/v1/governance/policies', { body: policy })
  const body = { input_text: 'may it go on?', budget_tokens: 0 }
  for (const verb of ['approve', 'reject'] as const) {
    const { label, text, headers } = marks(parts, `orchestrator.${verb}_action`)
    const { detail } = await client.ok('POST', steps, { body })
    await client.ok('POST', `${PATH}/actions/${detail.action_id}/${verb}`, {
      body: { approver: label('body.approver'), reason: text('body.reason') },
      headers: headers(),
    })
  }
  await client.ok('DELETE', `/v1/governance/policies/${policy_id}`)
}
